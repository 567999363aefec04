import { randomBytes } from 'node:crypto';
import t, { type Test } from 'tap';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import type { BoundCredentials } from '../../../runtime/workloads/bindings.ts';
import { purgeDead } from '../../../runtime/records/dead-letters.ts';
import { recordFailed } from '../../../runtime/records/event-deliveries.ts';
import { projectEventSource } from '../../../runtime/records/function-events.ts';
import { createPostgresSource } from '../../../workers/events/postgres.ts';
import { createRemoteSource } from '../../../workers/events/remote-source.ts';
import { testClients } from '../../support/clients.ts';
import type { SqlTimes } from '../../../workers/events/sql-limits.ts';
import { testDatabase, query as runOn } from '../../support/postgres.ts';
import { testServers } from '../../support/servers.ts';
import { eventWorld, recordPages, showPages, type EventWorldOptions } from './event-world.ts';

const remote = createRemoteSource(testClients(t));

const orders: FunctionEvents = {
  type: 'postgres',
  source: 'db',
  query: 'SELECT id, what FROM orders WHERE NOT done ORDER BY id;',
  markDone: "UPDATE orders SET done = true WHERE id = '{{id}}'",
};

/** A function's own database with a table of orders, and the function that reads it as its own user. */
async function world(
  t: Test,
  settings: FunctionEvents = orders,
  { times, ...options }: Partial<EventWorldOptions> & { times?: SqlTimes } = {},
) {
  const { pool: source, name: database, url } = await testDatabase(t);
  const [username, password] = [`fn_${randomBytes(4).toString('hex')}`, randomBytes(12).toString('hex')];
  await source.query(`CREATE ROLE ${username} LOGIN PASSWORD '${password}'`);
  await source.query(`CREATE TABLE orders (id bigint PRIMARY KEY, what text, done boolean NOT NULL DEFAULT false)`);
  await source.query(`GRANT ALL ON orders TO ${username}`);
  t.teardown(async () => {
    const drop = `DROP OWNED BY ${username}; DROP ROLE ${username}`;
    await runOn(url, drop).catch(() => undefined);
  });
  const server = new URL(testServers().postgres.url);
  const credentials: BoundCredentials = {
    type: 'postgres',
    host: server.hostname,
    port: Number(server.port),
    tls: false,
    username,
    password,
    database,
  };
  const sources = { postgres: times ? createPostgresSource(times) : remote };
  const base = await eventWorld(t, { sources, settings, credentials, ...options });
  const insert = (from: number, to = from) =>
    source.query(`INSERT INTO orders SELECT n, 'order ' || n FROM generate_series($1::bigint, $2) n`, [from, to]);
  const open = async () => (await source.query(`SELECT id FROM orders WHERE NOT done ORDER BY id`)).rows.length;
  return { ...base, source, credentials, insert, open };
}

t.test('each row is delivered in order, marked as done with its id as a parameter, and then forgotten', async (t) => {
  const { insert, turn, deliver, counts, open, source } = await world(t);
  await insert(1, 3);
  await turn();
  t.same(await counts(), { waiting: 3, delivering: 0, marking: 0, dead: 0 });
  t.same(await deliver(2), [
    { id: 1, what: 'order 1' },
    { id: 2, what: 'order 2' },
  ]);
  t.same(await counts(), { waiting: 1, delivering: 0, marking: 2, dead: 0 });
  t.equal(await open(), 3, 'nothing is marked without a turn');
  await turn();
  t.equal(await open(), 1);
  t.same(await counts(), { waiting: 1, delivering: 0, marking: 0, dead: 0 });
  await turn();
  t.same(await deliver(), [{ id: 3, what: 'order 3' }], 'delivered rows are not read again');
  await turn();
  await turn();
  await source.query('UPDATE orders SET done = false WHERE id = 2');
  await turn();
  t.same(await deliver(), [{ id: 2, what: 'order 2' }], 'a row that returns is delivered again');
});

t.test('ids are never part of a statement', async (t) => {
  const { source, turn, deliver, counts, credentials } = await world(t, {
    type: 'postgres',
    source: 'db',
    query: 'SELECT * FROM notes',
    markDone: 'DELETE FROM notes WHERE id = {{id}}',
  });
  await source.query(`CREATE TABLE notes (text text, id text)`);
  await source.query(`GRANT ALL ON notes TO ${credentials.username}`);
  const nasty = `x' OR true; DROP TABLE notes; --`;
  await source.query(`INSERT INTO notes VALUES ('a', $1), ('b', 'other')`, [nasty]);
  await turn();
  t.equal((await deliver(1)).length, 1);
  await turn();
  t.same((await source.query('SELECT text FROM notes')).rows, [{ text: 'b' }]);
  t.match(await counts(), { waiting: 1, marking: 0 });
});

t.test('at most a thousand events are kept at a time; the others stay in the source until there is room', async (t) => {
  const { insert, turn, deliver, counts, open } = await world(t);
  await insert(1, 1_600);
  await turn();
  t.match(await counts(), { waiting: 1_000 });
  t.equal((await deliver(900)).length, 900);
  await turn();
  t.equal(await open(), 700, 'marking makes room');
  t.match(await counts(), { waiting: 700, marking: 0 });
  const rest = (await deliver()) as { id: number }[];
  t.equal(rest[0]?.id, 901);
  t.equal(rest.at(-1)?.id, 1_600);
});

t.test(
  'large rows are read in small pages, and a row that is too large becomes a dead letter without its content',
  async (t) => {
    const { open, pages } = recordPages(remote);
    const { insert, source, turn, deliver, counts, pool } = await world(t, orders, { sources: { postgres: open } });
    await insert(1, 300);
    await source.query(`INSERT INTO orders SELECT n, repeat('x', 900000) FROM generate_series(301, 312) n`);
    await source.query(`INSERT INTO orders SELECT 313, repeat('ä', 600000) UNION ALL SELECT 314, repeat('x', 5000000)`);
    await insert(315, 320);
    await turn();
    t.match(await counts(), { waiting: 318, dead: 2 });
    t.equal(pages[0]?.length, 250, 'small rows are read in large pages');
    const large = pages.flatMap((page) => (page.some((size) => (size ?? 0) > 900_000) ? [page] : []));
    t.ok(large.length >= 4);
    for (const page of large) t.ok(page.reduce<number>((sum, size) => sum + (size ?? 0), 0) < 3_100_000);
    t.equal(pages.flat().filter((size) => size === null).length, 2);
    const { rows } = await pool.query(
      `SELECT event_id AS id, payload, last_error AS error FROM function_events WHERE state = 'dead' ORDER BY id`,
    );
    const error = 'The event is larger than 1048576 bytes.';
    t.same(rows, [
      { id: '313', payload: '', error },
      { id: '314', payload: '', error },
    ]);
    let got: unknown[] = [];
    for (let some = await deliver(); some.length > 0; some = await deliver()) got = [...got, ...some];
    t.equal(got.length, 318);
  },
);

t.test('without mark-done an id stays known until the source no longer returns it', async (t) => {
  const { insert, turn, deliver, source } = await world(t, {
    type: 'postgres',
    source: 'db',
    query: 'SELECT id FROM orders -- all of them',
  });
  await insert(1, 2);
  await turn();
  t.same(await deliver(), [{ id: 1 }, { id: 2 }]);
  await turn();
  t.same(await deliver(), [], 'the row still exists');
  await source.query('DELETE FROM orders WHERE id = 1');
  await turn();
  await insert(1);
  await turn();
  t.same(await deliver(), [{ id: 1 }], 'the row returned');
});

t.test('a marking that fails is retried by itself, and nothing is delivered twice', async (t) => {
  const { insert, turn, deliver, counts, open, pool, source, state } = await world(t);
  await insert(1, 3);
  await source.query(`ALTER TABLE orders ADD CONSTRAINT stays CHECK (NOT (done AND id = 2))`);
  await turn();
  await deliver();
  await turn();
  t.equal(await open(), 1, 'the others are marked');
  t.match(await counts(), { waiting: 0, marking: 1 });
  t.match((await state())?.error, /^Marking as done failed for 1 of 3 events: .*"stays"/);
  await source.query('ALTER TABLE orders DROP CONSTRAINT stays');
  await pool.query('UPDATE function_events SET due_at = now()');
  await turn();
  t.equal(await open(), 0);
  t.match(await counts(), { waiting: 0, marking: 0 });
  t.equal((await state())?.error, null);
});

t.test('stacked statements, statements that write, and slow ones are refused or stopped', async (t) => {
  const attacks: [string, string | undefined, RegExp][] = [
    ['SELECT 1 AS id; DELETE FROM orders', undefined, /multiple commands|syntax error/],
    ['SELECT id FROM orders) AS event; DELETE FROM orders; SELECT 1 FROM (SELECT 1', undefined, /multiple commands/],
    ['DELETE FROM orders RETURNING id', undefined, /syntax error/],
    ['WITH gone AS (DELETE FROM orders RETURNING id) SELECT id FROM gone', undefined, /data-modifying/],
    [`SELECT 1 AS id, nextval('counter')`, undefined, /read-only/],
    [`SELECT pg_sleep(60), 1 AS id`, undefined, /longer than 0.3 s/],
    [`SELECT set_config('statement_timeout', '0', false), pg_sleep(id) FROM orders`, undefined, /longer than 0.3 s/],
    ['SELECT * FROM secrets', undefined, /permission denied/],
    [orders.query ?? '', 'UPDATE orders SET done = true WHERE id = {{id}}; DELETE FROM orders', /multiple commands/],
    [orders.query ?? '', 'SELECT pg_sleep(60), {{id}}::text', /longer than 0.3 s/],
    [orders.query ?? '', 'DELETE FROM secrets WHERE id = {{id}}', /permission denied/],
  ];
  const { insert, turn, deliver, source, state, pool, id, credentials } = await world(t, orders, {
    times: { statementMs: 300, connectMs: 5_000 },
  });
  await insert(1, 2);
  await source.query('CREATE SEQUENCE counter');
  await source.query(`GRANT ALL ON counter TO ${credentials.username}`);
  await source.query('CREATE TABLE secrets (id bigint)');
  for (const [query, markDone, expected] of attacks) {
    await projectEventSource(pool, id, { type: 'postgres', source: 'db', query, ...(markDone && { markDone }) });
    // The rows of the last round are delivered, so that this round marks them.
    await pool.query('DELETE FROM function_events');
    const settings = await state();
    await turn();
    if (markDone) {
      await deliver();
      await turn();
    }
    t.match((await state())?.error, expected, `${markDone ?? query}: ${settings?.error ?? ''}`);
    t.equal((await source.query('SELECT 1 FROM orders WHERE NOT done')).rowCount, 2, 'nothing has changed');
  }
});

t.test(
  'a source that is down or refuses is read less and less often, and the error is reported without its password',
  async (t) => {
    const { bind, credentials, turn, state, insert, deliver } = await world(t, orders, { intervalMs: 1_000 });
    await insert(1);
    bind({ ...credentials, port: 1 });
    const waits = [await turn(), await turn(), await turn()].map((wait) => Math.round((wait ?? 0) / 1_000));
    t.same(waits, [1, 2, 4]);
    t.match(await state(), { failures: 3, error: /Cannot reach the service \(ECONNREFUSED\)/ });
    bind({ ...credentials, database: 'nowhere' });
    await turn();
    const { error } = (await state()) ?? {};
    t.match(error, /refused the connection: database "nowhere" does not exist/);
    t.notOk(error?.includes(credentials.password ?? ''));
    bind(credentials);
    await turn();
    t.match(await state(), { failures: 0, error: null });
    t.equal((await deliver()).length, 1);
  },
);

t.test(
  'a poller that is killed between delivery and marking leaves an event that is delivered, marked and not lost',
  async (t) => {
    let fault = '';
    const { insert, turn, deliver, lease, counts, open } = await world(t, orders, {
      failpoint: (name) => {
        if (name !== fault) return;
        fault = '';
        throw new Error('killed');
      },
    });
    await insert(1, 2);
    fault = 'events.taken';
    await t.rejects(turn(), /killed/);
    await turn();
    t.match(await counts(), { waiting: 2 }, 'an event that was read exists once');
    await lease(2, 0);
    t.same((await deliver()).length, 2, 'an event whose lease expired without an answer is delivered again');
    fault = 'events.marked';
    await t.rejects(turn(), /killed/);
    t.equal(await open(), 0);
    t.match(await counts(), { marking: 2 });
    await turn();
    t.match(await counts(), { waiting: 0, marking: 0 }, 'marking twice is harmless');
    await turn();
    t.same(await deliver(), []);
  },
);

t.test('a pass that was replaced by a newer one stores nothing', async (t) => {
  const { insert, turn, overtake, counts } = await world(t, orders, {
    sources: { postgres: showPages(remote, () => overtake()) },
  });
  await insert(1);
  await turn();
  t.match(await counts(), { waiting: 0 });
});

t.test('the source is not read before it has credentials; a failure to create them is reported', async (t) => {
  const { kube, resource, insert, turn, state, counts } = await world(t);
  await insert(1);
  const bound = (phase: 'pending' | 'ready' | 'failed', message?: string) => {
    const binding = { service: 'db', version: 2 };
    const status = { bindings: [{ ...binding, phase, ...(message !== undefined && { message }) }] };
    kube.seed({ ...resource, spec: { ...resource.spec, bindings: [binding] }, status });
  };
  bound('pending', 'The service is starting.');
  t.equal(Math.round(((await turn()) ?? 0) / 1000), 1, 'again soon');
  t.match(await state(), { error: null, polledAt: null, failures: 0 });
  bound('failed', 'The server refuses: no.');
  await turn();
  t.match(await state(), { error: 'The binding to "db" failed: The server refuses: no.', polledAt: null });
  bound('ready');
  await turn();
  t.match(await state(), { error: null, polledAt: Date });
  t.equal((await counts()).waiting, 1);
});

t.test('an event that could not be marked does not stop a source with corrected settings', async (t) => {
  const { query = '' } = orders;
  const wrong = { ...orders, markDone: 'UPDATE orders SET don = true WHERE id = {{id}}' };
  const failingSource = async () => {
    const base = await world(t, wrong);
    const { insert, turn, deliver, counts, state } = base;
    await insert(1, 1_200);
    await turn();
    t.equal((await deliver()).length, 1_000);
    await turn();
    t.match(await counts(), { waiting: 0, marking: 1_000 });
    t.match((await state())?.error, /^Marking as done failed/);
    return base;
  };

  const marking = await failingSource();
  await marking.pool.query(`UPDATE function_events SET due_at = due_at + interval '5 minutes'`);
  await projectEventSource(marking.pool, marking.id, orders);
  for (let n = 0; n < 5; n++) await marking.turn();
  t.equal(await marking.open(), 200, 'a new marking is tried at once');
  t.match(await marking.counts(), { waiting: 200, marking: 0 });

  const none = await failingSource();
  await projectEventSource(none.pool, none.id, { type: 'postgres', source: 'db', query });
  await none.turn();
  t.match(await none.counts(), { waiting: 200, marking: 0 });
  t.equal(((await none.deliver()) as { id: number }[])[0]?.id, 1_001, 'delivered rows are known');
  await none.insert(1_201);
  await none.turn();
  t.match(await none.deliver(), [{ id: 1_201 }]);

  const other = await failingSource();
  await projectEventSource(other.pool, other.id, {
    ...orders,
    query: query.replace('NOT done', 'NOT done AND id > 950'),
  });
  await other.turn();
  t.match(await other.counts(), { waiting: 250, marking: 0 });
  t.equal(((await other.deliver()) as { id: number }[])[0]?.id, 951, 'a row that only the new query returns is new');
  await other.turn();
  await other.turn();
  t.equal(await other.open(), 950);
  t.match(await other.counts(), { waiting: 0, marking: 0 });
});

t.test('events delivered before mark-done was set are marked by it, and not delivered again', async (t) => {
  const { query = '' } = orders;
  const { insert, turn, deliver, counts, open, pool, id, source, lease } = await world(t, {
    type: 'postgres',
    source: 'db',
    query,
  });
  await insert(1, 1_200);
  for (let round = 0; round < 2; round++) {
    await turn();
    await deliver();
  }
  await insert(1_201, 1_202);
  await turn();
  const [refused] = await lease(1);
  if (!refused) throw new Error('an event');
  await recordFailed(pool, id, [{ ...refused, status: 400, message: '' }]);
  await purgeDead(pool, id, 'all');

  await projectEventSource(pool, id, { ...orders, markDone: 'UPDATE orders SET don = true WHERE id = {{id}}' });
  await insert(1_203);
  await turn();
  t.match(await deliver(), [{ id: 1_202 }, { id: 1_203 }], 'nothing is delivered again');
  await turn();
  t.match(await counts(), { waiting: 0, marking: 202 }, 'an event that cannot be marked leaves room');

  await projectEventSource(pool, id, orders);
  await insert(1_204);
  for (let round = 0; (await open()) > 2 && round < 20; round++) await turn();
  t.match(await deliver(), [{ id: 1_204 }]);
  await turn();
  t.same((await source.query('SELECT id FROM orders WHERE NOT done')).rows, [{ id: '1201' }], 'purged events stay');
  await turn();
  await source.query('UPDATE orders SET done = false WHERE id IN (7, 1204)');
  await turn();
  t.match(await deliver(), [{ id: 7 }, { id: 1_204 }], 'rows that return are new');
});

t.test('an id has at most 2,000 bytes', async (t) => {
  const settings = (bytes: number): FunctionEvents => ({
    type: 'postgres',
    source: 'db',
    query: `SELECT repeat('x', ${bytes}) AS id`,
  });
  const { turn, deliver } = await world(t, settings(2_000));
  await turn();
  t.equal((await deliver()).length, 1);
  const long = await world(t, settings(2_001));
  await long.turn();
  t.match(await long.state(), { failures: 1, error: /^The id "x{40}…" is longer than 2000 bytes\.$/ });
});

t.test('a source is not read while it has too many dead letters, or too much data in them', async (t) => {
  const { insert, turn, deliver, counts, pool, id, state } = await world(t);
  const give = async (count: number, bytes: number) =>
    pool.query(
      `INSERT INTO function_events (workload_id, origin, event_id, payload, state, ended_at)
       SELECT $1, $2, 'refused ' || n, repeat('x', $4), 'dead', now() FROM generate_series(1, $3::integer) n`,
      [id, (await state())?.origin, count, bytes],
    );
  await insert(1);
  for (const [count, bytes] of [
    [10_000, 1],
    [256, 1024 * 1024],
  ] as const) {
    await give(count, bytes);
    await turn();
    t.match(await counts(), { waiting: 0, dead: count });
    const message = /^Reading is paused: .* Redrive or purge dead letters: svc function dead-letters list intake$/;
    t.match((await state())?.error, message);
    await purgeDead(pool, id, 'all');
    await turn();
    t.equal((await state())?.error, null);
    t.match(await counts(), { waiting: 1, dead: 0 });
    await deliver();
    await turn();
    await turn();
    await pool.query('DELETE FROM function_events');
    await insert(2 + count);
  }
});
