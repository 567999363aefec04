import { createConnection } from 'mysql2/promise';
import t, { type Test } from 'tap';
import type { FunctionEvents } from '../../../runtime/contracts/resources/function.ts';
import { projectEventSource } from '../../../runtime/records/function-events.ts';
import { createMysqlSource } from '../../../workers/events/mysql.ts';
import { createRemoteSource } from '../../../workers/events/remote-source.ts';
import { testClients } from '../../support/clients.ts';
import type { SqlTimes } from '../../../workers/events/sql-limits.ts';
import { storeServer } from '../../support/store-server.ts';
import { eventWorld, recordPages, type EventWorldOptions } from './event-world.ts';

const server = await storeServer(t, 'mysql');
const reach = { host: server.host, port: server.port };
const password = 'battery-staple';
const remote = createRemoteSource(testClients(t));

const orders: FunctionEvents = {
  type: 'mysql',
  source: 'db',
  query: 'SELECT id, what FROM orders WHERE NOT done ORDER BY rank DESC;',
  markDone: "UPDATE orders SET done = true WHERE id = '{{id}}'",
};

let databases = 0;

/** A function's own database with a table of orders, and the function that reads it as its own user. */
async function world(
  t: Test,
  settings: FunctionEvents = orders,
  { times, ...options }: Partial<EventWorldOptions> & { times?: SqlTimes } = {},
) {
  const database = `orders_${++databases}`;
  const admin = await createConnection({ ...reach, user: 'svc', password: server.password });
  admin.on('error', () => undefined);
  t.teardown(() => admin.destroy());
  await admin.query(`CREATE DATABASE ${database}`);
  await admin.query(`CREATE USER ${database} IDENTIFIED BY '${password}'`);
  await admin.query(`USE ${database}`);
  await admin.query(
    `CREATE TABLE orders (id varchar(100) PRIMARY KEY, what text, rank bigint, done boolean NOT NULL DEFAULT false, KEY (done, rank))`,
  );
  await admin.query('CREATE TABLE secrets (id bigint)');
  await admin.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${database}.orders TO ${database}`);
  const credentials = { type: 'mysql' as const, ...reach, tls: false, username: database, password, database };
  const sources = { mysql: times ? createMysqlSource(times) : remote };
  const base = await eventWorld(t, { sources, settings, credentials, ...options });
  const insert = (from: number, to = from) =>
    admin.query(
      `INSERT INTO orders (id, what, rank) SELECT seq, CONCAT('order ', seq), -seq FROM seq_${from}_to_${to}`,
    );
  const open = async (): Promise<string[]> => {
    const [rows] = await admin.query('SELECT id FROM orders WHERE NOT done ORDER BY rank DESC');
    return (rows as { id: string }[]).map(({ id }) => id);
  };
  return { ...base, admin, credentials, insert, open };
}

t.test('each row is delivered in the order of the query, marked as done, and then forgotten', async (t) => {
  const { insert, turn, deliver, count, open, admin } = await world(t);
  await insert(1, 3);
  await turn();
  t.same(await deliver(2), [
    { id: '1', what: 'order 1' },
    { id: '2', what: 'order 2' },
  ]);
  t.same(await open(), ['1', '2', '3'], 'nothing is marked without a turn');
  await turn();
  t.same(await open(), ['3']);
  t.same([await count('pending'), await count('delivered')], [1, 0]);
  t.same(await deliver(), [{ id: '3', what: 'order 3' }]);
  await turn();
  await turn();
  await admin.query('UPDATE orders SET done = false WHERE id = 2');
  await turn();
  t.same(await deliver(), [{ id: '2', what: 'order 2' }], 'a row that returns is delivered again');
});

t.test('a long table is read as room allows, and all of it in the end', async (t) => {
  const { insert, turn, deliver, open, count } = await world(t);
  await insert(1, 3_210);
  const got: unknown[] = [];
  for (let round = 0; round < 12 && got.length < 3_210; round++) {
    await turn();
    t.ok((await count('pending')) <= 1_000);
    got.push(...(await deliver()).map((row) => (row as { id: string }).id));
  }
  t.same(
    got,
    Array.from({ length: 3_210 }, (_, n) => String(n + 1)),
  );
  for (let round = 0; round < 6; round++) await turn();
  t.same(await open(), []);
});

t.test('large rows are read in small pages, and a row that is too large becomes a dead letter', async (t) => {
  const { open, pages } = recordPages(remote);
  const { insert, turn, admin, count } = await world(t, orders, { sources: { mysql: open } });
  await admin.query('ALTER TABLE orders MODIFY what longtext');
  await insert(1, 300);
  const large = `SELECT seq, REPEAT('x', IF(seq = 306, 5000000, 900000)), -seq FROM seq_301_to_310`;
  await admin.query(`INSERT INTO orders (id, what, rank) ${large}`);
  await insert(311, 320);
  await turn();
  t.same([await count('pending'), await count('dead')], [319, 1]);
  t.equal(pages[0]?.length, 250, 'small rows are read in large pages');
  for (const page of pages) t.ok(page.reduce<number>((sum, size) => sum + (size ?? 0), 0) < 3_100_000);
  t.equal(pages.flat()[305], null);
});

t.test('ids are never part of a statement', async (t) => {
  const { turn, deliver, open, admin } = await world(t);
  const ids = [`1' OR '1'='1`, `'; DROP TABLE orders; --`, '{{id}}', '?', 'ünï\\'];
  for (const [n, id] of ids.entries()) await admin.query('INSERT INTO orders (id, rank) VALUES (?, ?)', [id, -n]);
  await turn();
  await deliver(1);
  await turn();
  t.same(await open(), ids.slice(1), 'only its own row');
  await deliver();
  await turn();
  t.same(await open(), []);
});

t.test('every column type is converted to JSON, and the first column is the id if none is named so', async (t) => {
  const query = `SELECT 'a' AS name, 42, 9007199254740993 AS large, 1.50 AS price, X'FF00' AS bytes, NULL AS nothing,
    TIMESTAMP '2026-11-22 10:00:00' AS at, '{"a":1}' AS document -- as it is`;
  const { turn, deliver } = await world(t, { type: 'mysql', source: 'db', query });
  await turn();
  t.same(await deliver(), [
    {
      name: 'a',
      42: 42,
      large: '9007199254740993',
      price: '1.50',
      bytes: '/wA=',
      nothing: null,
      at: '2026-11-22 10:00:00',
      document: '{"a":1}',
    },
  ]);
});

t.test('stacked statements, statements that write, and slow ones are refused or stopped', async (t) => {
  const mark = (markDone: string) => [orders.query ?? '', markDone] as const;
  const attacks: (readonly [string, string | undefined, RegExp])[] = [
    ['SELECT 1 AS id; DELETE FROM orders', undefined, /error in your SQL syntax/],
    ['SELECT id FROM orders) AS event; DELETE FROM orders; SELECT 1 FROM (SELECT 1', undefined, /SQL syntax/],
    ['SELECT id FROM orders) AS event JOIN (SELECT 1 AS one', undefined, /Not unique table/],
    ['DELETE FROM orders RETURNING id', undefined, /SQL syntax/],
    ['SET SESSION max_statement_time = 0', undefined, /SQL syntax/],
    ['SET STATEMENT max_statement_time = 0 FOR SELECT SLEEP(60) AS id', undefined, /SQL syntax/],
    [`SELECT 1 AS id INTO OUTFILE '/tmp/svc-never'`, undefined, /refused the statement/],
    ['SELECT SLEEP(60) AS id', undefined, /longer than 0.3 s/],
    ['SELECT id FROM secrets', undefined, /SELECT command denied/],
    ['SELECT NULL AS id', undefined, /row without an id/],
    [`SELECT X'FF' AS id`, undefined, /select HEX\(id\)/],
    [...mark('UPDATE orders SET done = true WHERE id = {{id}}; DELETE FROM orders'), /SQL syntax/],
    [...mark('SELECT SLEEP(60), {{id}}'), /longer than 0.3 s/],
    [...mark('DELETE FROM secrets WHERE id = {{id}}'), /DELETE command denied/],
  ];
  const times = { statementMs: 300, connectMs: 5_000 };
  const { insert, turn, deliver, state, pool, id, open } = await world(t, orders, { times });
  await insert(1, 2);
  for (const [query, markDone, expected] of attacks) {
    await projectEventSource(pool, id, { type: 'mysql', source: 'db', query, ...(markDone && { markDone }) });
    // The rows of the last round are delivered, so that this round marks them.
    await pool.query('DELETE FROM function_events');
    await turn();
    if (markDone) {
      await deliver();
      await turn();
    }
    t.match((await state())?.error, expected, markDone ?? query);
    t.same(await open(), ['1', '2'], 'nothing has changed');
  }
});

t.test('a row that cannot be marked does not prevent the marking of others', async (t) => {
  const { insert, turn, deliver, state, open, admin, pool } = await world(t);
  await insert(1, 3);
  await admin.query('ALTER TABLE orders ADD CONSTRAINT stays CHECK (id <> 2 OR NOT done)');
  await turn();
  await deliver();
  await turn();
  t.same(await open(), ['2']);
  t.match((await state())?.error, /^Marking as done failed for 1 of 3 events: .*stays/);
  await admin.query('ALTER TABLE orders DROP CONSTRAINT stays');
  await pool.query('UPDATE function_events SET due_at = now()');
  await turn();
  t.same(await open(), []);
});

t.test('a server that restarts loses nothing, and its errors are reported without the password', async (t) => {
  const { insert, turn, deliver, state, bind, credentials } = await world(t);
  await insert(1, 2);
  bind({ ...credentials, password: 'correct-horse-2' });
  await turn();
  const { error } = (await state()) ?? {};
  t.match(error, /refused the connection: Access denied/);
  t.notMatch(error, /correct-horse/);
  bind(credentials);
  await turn();
  await server.stop();
  t.same((await deliver()).length, 2);
  await turn();
  t.match(await state(), { failures: 1, error: /Cannot reach the service \(ECONNREFUSED\)/ });
  await server.start();
  await turn();
  t.equal((await state())?.error, null);
  const after = await createConnection({
    ...reach,
    user: 'svc',
    password: server.password,
    database: credentials.database,
  });
  const [rows] = await after.query('SELECT id FROM orders WHERE NOT done');
  await after.end();
  t.same(rows, [], 'delivered rows are marked');
});
