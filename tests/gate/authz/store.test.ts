import t, { type Test } from 'tap';
import type { Pool } from 'pg';
import type { GateSession, OthersRow, ViewPosition } from '../../../gate/authz/gate-store.ts';
import { createPostgresStore } from '../../../gate/authz/store.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { calendarDay } from '../../../runtime/domain/period.ts';
import { deleteKey } from '../../../runtime/records/keys.ts';
import { testDatabase } from '../../support/postgres.ts';
import { insertGateRecords, usageRows } from './gate-records.ts';
import { columnsOf } from './usage-columns.ts';

const incarnation = newId();
const question = { incarnation, calendar: calendarDay(Date.parse('2026-03-04T12:00:00Z')) };
const periodOf = () => undefined;
const noOthers = { others: () => undefined };

async function rig(t: Test) {
  const { pool, url } = await testDatabase(t);
  const session = await createPostgresStore({ connectionString: url }).connect();
  t.teardown(() => session.end());
  return { pool, session };
}

const insertPlans = (pool: Pool, count: number) =>
  pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst)
     SELECT gen_random_uuid(), $1, 'plan ' || n, 1, 1 FROM generate_series(1, $2::integer) AS n`,
    [newId(), count],
  );

const positionOf = async (session: GateSession): Promise<ViewPosition> =>
  (await session.head(undefined, incarnation)).position;

/** Counts another replica's requests on 3 March. */
const insertUsage = (pool: Pool, key: Id, allowed: number) =>
  pool.query(
    `INSERT INTO usage (key_id, day, incarnation, allowed, version)
     VALUES ($1, '2026-03-03', $2, $3, next_usage_version())`,
    [key, newId(), allowed],
  );

t.test('a load reads all rows, in pieces of 500', async (t) => {
  const { pool, session } = await rig(t);
  const records = await insertGateRecords(pool);
  await insertPlans(pool, 1_000);
  for (let index = 0; index < 3; index++) await records.key();
  const pieces = { plans: [] as number[], apps: [] as number[], keys: [] as number[], others: [] as number[] };
  const { primary, position } = await session.load(question, {
    plans: (rows) => pieces.plans.push(rows.length),
    apps: (rows) => pieces.apps.push(rows.length),
    keys: (rows) => pieces.keys.push(rows.length),
    others: (rows) => pieces.others.push(rows.length),
  });
  t.same(pieces, { plans: [500, 500, 1], apps: [2], keys: [3], others: [0] });
  t.equal(primary, true);
  t.same(position, await positionOf(session));
  t.equal(position.feed.version, 1_006);
});

t.test('up to 10,000 changes are read, and more lead to a load', async (t) => {
  const { pool, session } = await rig(t);
  await insertPlans(pool, 1);
  const since = await positionOf(session);
  await insertPlans(pool, 10_000);
  const read = () => session.changes({ ...question, since, allUsage: false, periodOf }, noOthers);
  t.equal((await read())?.plans.length, 10_000);
  await insertPlans(pool, 1);
  t.equal(await read(), undefined);
});

t.test('changes since a position that the history does not contain, or with a gap, lead to a load', async (t) => {
  const { pool, session } = await rig(t);
  await insertPlans(pool, 1);
  const since = await positionOf(session);
  await insertPlans(pool, 3);
  const read = (feed: Partial<ViewPosition['feed']> = {}) =>
    session.changes(
      { ...question, since: { ...since, feed: { ...since.feed, ...feed } }, allUsage: false, periodOf },
      noOthers,
    );
  t.equal((await read())?.plans.length, 3);
  t.equal(await read({ feedId: newId() }), undefined, 'another history');
  t.equal(await read({ token: newId() }), undefined, 'another change at the version');
  await pool.query('DELETE FROM changes WHERE version = 3');
  t.equal(await read(), undefined, 'a gap');
});

t.test('the heads of the histories, and what they have at a position', async (t) => {
  const { pool, session } = await rig(t);
  const empty = await session.head(undefined, incarnation);
  t.match(empty, { primary: true, replica: 'missing', replicas: 0, tokensThere: { feed: null, usage: null } });
  t.match(empty.position, { feed: { version: 0, token: null }, usage: { version: 0, token: null } });

  await insertPlans(pool, 1);
  await pool.query('SELECT next_usage_version()');
  await session.register(incarnation, 'a');
  const first = await session.head(undefined, incarnation);
  t.match(first, { replica: 'open', tokensThere: { feed: null, usage: null } }, 'there is nothing at version 0');
  t.match(first.position, { feed: { version: 1, token: String }, usage: { version: 1, token: String } });
  await insertPlans(pool, 1);
  const { tokensThere, replicas } = await session.head(first.position, incarnation);
  t.equal(replicas, 1);
  t.same(tokensThere, { feed: first.position.feed.token, usage: first.position.usage.token });

  const counted = async () => (await session.head(undefined, incarnation)).replicas;
  for (const name of ['b', 'c', 'd']) await session.register(newId(), name);
  t.equal(await counted(), 4);
  await pool.query(`UPDATE gate_replicas SET closed_at = now() WHERE name = 'c'`);
  await pool.query(`UPDATE gate_replicas SET seen_at = now() - interval '16 seconds' WHERE name = 'd'`);
  t.equal(await counted(), 2, 'without one that stopped, and one that is silent');
  await session.report(incarnation, first.position.feed, false);
  const { rows } = await pool.query(`SELECT name FROM gate_replicas WHERE NOT shares_rates`);
  t.same(rows, [{ name: 'a' }]);

  await pool.query('DELETE FROM usage_head');
  await t.rejects(session.head(undefined, incarnation), { message: 'feed_head or usage_head is empty' });
});

t.test('changes come with the usage of the keys that they concern', async (t) => {
  const { pool, session } = await rig(t);
  const records = await insertGateRecords(pool);
  const [used, idle] = [await records.key(), await records.key()];
  await pool.query(`UPDATE plans SET quota_limit = 100, quota_period = 'week'`);
  await insertUsage(pool, used.id, 3);
  const since = await positionOf(session);
  const read = async (change: { allUsage?: boolean; since?: ViewPosition; period?: 'day' | 'week' } = {}) => {
    const others: OthersRow[] = [];
    const changes = await session.changes(
      {
        ...question,
        since: change.since ?? since,
        allUsage: change.allUsage ?? false,
        periodOf: () => change.period ?? 'week',
      },
      { others: (rows) => others.push(...rows) },
    );
    const { keys = [], plans = [], allUsage } = changes ?? {};
    return {
      keys: keys.length,
      plans: plans.length,
      others: others.map(({ allowed }) => allowed).sort((a, b) => a - b),
      allUsage,
    };
  };
  const nothing = { keys: 0, plans: 0, others: [], allUsage: false };
  t.same(await read(), nothing);
  t.same(await read({ allUsage: true }), { ...nothing, others: [3], allUsage: true }, 'of every key that has any');
  const replaced = { ...since, usage: { ...since.usage, token: newId() } };
  t.same(await read({ since: replaced }), { ...nothing, others: [3], allUsage: true }, 'another history of usage');

  await pool.query('UPDATE plans SET burst = burst + 1');
  t.same(await read(), { ...nothing, plans: 1 }, 'a plan with the same period');
  t.same(await read({ period: 'day' }), { ...nothing, plans: 1, others: [0, 3] }, 'with another one');
  await pool.query('UPDATE api_keys SET enabled = false WHERE id = $1', [idle.id]);
  t.same(await read(), { ...nothing, plans: 1, keys: 1, others: [0] }, 'a changed key');
  await insertUsage(pool, used.id, 4);
  t.same(await read(), { ...nothing, plans: 1, keys: 1, others: [0, 7] }, 'new usage');
  await pool.query('UPDATE plans SET quota_limit = NULL, quota_period = NULL');
  t.same(await read(), { ...nothing, plans: 1, keys: 1 }, 'without a quota');
});

/** More than 32 bits. */
const large = 2 ** 40 + 2 ** 32 + 2 ** 31 + 5;

t.test('writing again counts nothing twice, and a deleted key is skipped', async (t) => {
  const { pool, session } = await rig(t);
  const records = await insertGateRecords(pool);
  const [kept, gone] = [await records.key(), await records.key()];
  await deleteKey(pool, gone.id);
  const columns = (allowed: number) =>
    columnsOf([
      { keyId: gone.id, day: '2026-03-01', allowed: 9, rateDenied: 0, quotaDenied: 0 },
      { keyId: kept.id, day: '2026-03-01', allowed, rateDenied: 2, quotaDenied: 0 },
      { keyId: kept.id, day: '2026-03-02', allowed: large, rateDenied: 0, quotaDenied: 3 },
    ]);
  t.equal(await session.flush(incarnation, 1, columns(5)), false, 'the process life is not recorded');
  await session.register(incarnation, 'a');
  t.equal(await session.flush(incarnation, 1, columns(5)), true);
  t.equal(await session.flush(incarnation, 1, columns(5)), true);
  t.equal(await session.flush(incarnation, 2, columns(3)), true, 'a late batch does not lower the counts');
  const counts = [
    { day: '2026-03-01', allowed: 5, rate: 2, quota: 0 },
    { day: '2026-03-02', allowed: large, rate: 0, quota: 3 },
  ];
  t.match(await usageRows(pool, kept.id), counts);
  t.same(await usageRows(pool, gone.id), []);
  t.equal(await session.close(incarnation), 2, 'the last batch');
  t.equal(await session.close(incarnation), 2);
  t.equal(await session.flush(incarnation, 3, columns(7)), false, 'closed');
  t.match(await usageRows(pool, kept.id), counts);
  const { rows } = await pool.query(
    `SELECT version::integer, (SELECT count(*)::integer FROM usage_marks) AS marks FROM usage_head`,
  );
  t.same(rows, [{ version: 3, marks: 3 }], 'a refused batch uses no version');
});

t.test('a session that listens is notified of changes, and of the loss of its connection', async (t) => {
  const { pool, url } = await testDatabase(t);
  let nudged = Promise.withResolvers<void>();
  const store = createPostgresStore({ connectionString: url, application_name: 'listener' });
  const session = await store.connect(() => nudged.resolve());
  t.teardown(() => session.end());
  await insertPlans(pool, 1);
  await nudged.promise;
  t.equal((await positionOf(session)).feed.version, 1);
  nudged = Promise.withResolvers();
  await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE application_name = 'listener' AND datname = current_database()`,
  );
  await nudged.promise;
  await t.rejects(positionOf(session));
});
