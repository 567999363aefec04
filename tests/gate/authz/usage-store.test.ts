import t, { type Test } from 'tap';
import type { Pool } from 'pg';
import { createFeed } from '../../../gate/authz/feed.ts';
import type { PollOutcome } from '../../../gate/authz/feed-poll.ts';
import type { GateStore } from '../../../gate/authz/gate-store.ts';
import { createPostgresStore } from '../../../gate/authz/store.ts';
import { createUsageWriter } from '../../../gate/authz/usage-writer.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { closeReplica } from '../../../runtime/records/gate-replicas.ts';
import { foldUsage } from '../../../workers/housekeeping/store.ts';
import { fakeClock, settle, type FakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { insertGateRecords, usageRows } from './gate-records.ts';
import { bench, request } from './records.ts';
import { tcpProxy } from './tcp-proxy.ts';

/** The calls to the store that are in progress, of all replicas. */
const calls = new Set<Promise<unknown>>();

/** The same call, among {@link calls} until it ends. */
async function track<T>(call: Promise<T>): Promise<T> {
  calls.add(call);
  try {
    return await call;
  } finally {
    calls.delete(call);
  }
}

/** The store takes real time, in which the clock of the replicas must not advance. */
async function callsEnded() {
  for (await settle(); calls.size > 0; await settle()) await Promise.allSettled(calls);
}

function trackedStore(store: GateStore): GateStore {
  return {
    async connect(nudge) {
      const session = await track(store.connect(nudge));
      return {
        head: (...query) => track(session.head(...query)),
        changes: (...query) => track(session.changes(...query)),
        load: (...query) => track(session.load(...query)),
        register: (...query) => track(session.register(...query)),
        report: (...query) => track(session.report(...query)),
        close: (...query) => track(session.close(...query)),
        flush: (...query) => track(session.flush(...query)),
        end: () => session.end(),
      };
    },
  };
}

/** A replica on a stopped clock, whose polls and flushes a test awaits. */
function replica(t: Test, { url, clock, name }: { url: string; clock: FakeClock; name: string }) {
  const gate = bench();
  const outcomes: PollOutcome[] = [];
  let failures = 0;
  const store = trackedStore(createPostgresStore({ connectionString: url, application_name: name }));
  const dependencies = { store, usage: gate.usage, clock, log: silentLog };
  const feed = createFeed({
    ...dependencies,
    view: gate.view,
    rates: gate.rates,
    name,
    observe: (outcome) => outcomes.push(outcome),
  });
  const writer = createUsageWriter({ ...dependencies, onFailure: () => failures++, onClosed: () => feed.nudge() });
  t.teardown(async () => {
    await feed.stop();
    const stopped = writer.stop();
    await clock.advance(20_000);
    await stopped;
  });
  feed.start();
  writer.start();
  /** Advances the clock until a condition holds. */
  const until = async (holds: () => boolean | Promise<boolean>) => {
    for (await callsEnded(); !(await holds()); await callsEnded()) await clock.advance(1_000);
  };
  return {
    ...gate,
    feed,
    writer,
    get failures() {
      return failures;
    },
    until,
    loaded: () => until(() => outcomes.includes('loaded')),
    written: () => until(() => !gate.usage.pending()),
    decide(appId: Id, apiKey: string, times = 1) {
      const moment = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
      return Array.from({ length: times }, () => gate.check(request({ appId, apiKey }), moment).decision);
    },
  };
}

const sumOf = async (pool: Pool, keyId: Id) => {
  const rows = await usageRows(pool, keyId);
  return rows.reduce((sum, row) => sum + row.allowed, 0);
};
const setQuota = (pool: Pool, planId: Id, limit: number | null, period: string | null) =>
  pool.query('UPDATE plans SET quota_limit = $2, quota_period = $3 WHERE id = $1', [planId, limit, period]);

t.test('two replicas share one quota, and both write their counts', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  await setQuota(pool, records.planId, 10, 'week');
  const { key, id } = await records.key();
  const clock = fakeClock(new Date('2026-03-04T12:00:00Z'));
  const [a, b] = [replica(t, { url, clock, name: 'a' }), replica(t, { url, clock, name: 'b' })];
  await Promise.all([a.loaded(), b.loaded()]);
  t.same(new Set(a.decide(records.appId, key, 6)), new Set(['allow']));
  t.same(b.decide(records.appId, key), ['allow'], 'not known yet');
  const allowedBy = (gate: typeof a) =>
    gate.usage.allowed(gate.slots.slotOf(id), 'week', gate.usage.calendar(clock.now().getTime()));
  await a.until(() => allowedBy(a) === 7 && allowedBy(b) === 7);
  t.same(b.decide(records.appId, key, 4), ['allow', 'allow', 'allow', 'deny_quota']);
  await a.until(() => allowedBy(a) === 10);
  t.same(a.decide(records.appId, key), ['deny_quota']);
  await a.written();
  await b.written();
  const rows = await usageRows(pool, id);
  t.same(new Set(rows.map(({ incarnation }) => incarnation)), new Set([a.usage.incarnation(), b.usage.incarnation()]));
  t.match(rows, [{ day: '2026-03-04' }, { day: '2026-03-04' }]);
  t.equal(await sumOf(pool, id), 10);
  t.equal(
    rows.reduce((sum, { quota }) => sum + quota, 0),
    2,
  );

  t.test('a different period, a different plan', async (t) => {
    await setQuota(pool, records.planId, 11, 'day');
    await a.until(() => a.view.plan(records.planId)?.quota?.limit === 11);
    t.same(a.decide(records.appId, key, 2), ['allow', 'deny_quota'], 'the others’ usage of the day counts');
    clock.jump(86_400_000);
    t.same(a.decide(records.appId, key, 1), ['allow'], 'a new day');
    await setQuota(pool, records.planId, 13, 'week');
    await a.until(() => a.view.plan(records.planId)?.quota?.limit === 13);
    t.same(a.decide(records.appId, key, 2), ['allow', 'deny_quota']);
    await pool.query(
      `INSERT INTO usage (key_id, day, incarnation, allowed, version)
       VALUES ($1, '2026-03-01', $2, 40, next_usage_version())`,
      [id, newId()],
    );
    await a.written();
    const { rows } = await pool.query<{ version: number }>('SELECT version::integer FROM usage_head');
    await a.until(() => (a.view.position()?.usage.version ?? 0) >= (rows[0]?.version ?? Infinity));
    const inMonth = () => a.usage.allowed(a.slots.slotOf(id), 'month', a.usage.calendar(clock.now().getTime()));
    await setQuota(pool, records.planId, 54, 'month');
    await a.until(() => inMonth() === 53);
    t.same(a.decide(records.appId, key, 2), ['allow', 'deny_quota'], "last week's usage counts for the month");
    await setQuota(pool, records.planId, null, null);
    await a.until(() => a.view.plan(records.planId)?.quota === undefined);
    t.same(a.decide(records.appId, key, 2), ['allow', 'allow']);
  });
});

t.test('the usage of other replicas is read at the start', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  await setQuota(pool, records.planId, 5, 'month');
  const { key, id } = await records.key();
  await pool.query(
    `INSERT INTO usage (key_id, day, incarnation, allowed, version) VALUES
       ($1, '2026-02-28', $2, 100, 1), ($1, '2026-03-01', $2, 2, 1), ($1, '2026-03-04', $3, 1, 1), ($1, '2026-04-01', $3, 50, 1)`,
    [id, newId(), newId()],
  );
  const clock = fakeClock(new Date('2026-03-04T12:00:00Z'));
  const a = replica(t, { url, clock, name: 'a' });
  await a.loaded();
  t.same(a.decide(records.appId, key, 3), ['allow', 'allow', 'deny_quota'], 'of this month only');
});

t.test('a replica reports its version, and ends cleanly', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const clock = fakeClock();
  const a = replica(t, { url, clock, name: 'svc-authz-x' });
  const row = async () =>
    (
      await pool.query<{ name: string; applied: boolean; open: boolean }>(
        `SELECT name, closed_at IS NULL AS open,
           (gate_replicas.feed_id, applied_version) IS NOT DISTINCT FROM (feed_head.feed_id, version) AS applied
         FROM gate_replicas, feed_head WHERE incarnation = $1`,
        [a.usage.incarnation()],
      )
    ).rows[0];
  await a.until(async () => (await row())?.applied === true);
  t.match(await row(), { name: 'svc-authz-x', open: true });
  await records.key();
  await a.until(async () => (await row())?.applied === true);
  a.decide(records.appId, key, 3);
  await a.feed.stop();
  await a.writer.stop();
  t.equal(await sumOf(pool, id), 3, 'the last counts are written');
  t.match(await row(), { open: false });
});

t.test('a replica that was closed while it lives continues under a new id, and nothing counts twice', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  await setQuota(pool, records.planId, 20, 'month');
  const { key, id } = await records.key();
  const clock = fakeClock(new Date('2026-03-04T12:00:00Z'));
  const a = replica(t, { url, clock, name: 'a' });
  await a.loaded();
  const first = a.usage.incarnation();
  a.decide(records.appId, key, 5);
  await a.written();
  a.decide(records.appId, key, 2);
  await closeReplica(pool, first);
  while ((await foldUsage(pool, first, 1)) > 0);
  t.equal(await sumOf(pool, id), 5, 'folding does not change the sum');
  await a.until(() => a.usage.incarnation() !== first);
  await a.written();
  t.equal(await sumOf(pool, id), 7);
  t.equal(a.usage.allowed(a.slots.slotOf(id), 'month', a.usage.calendar(clock.now().getTime())), 7);
  t.same(
    (await usageRows(pool, id)).map(({ allowed }) => allowed).sort((x, y) => x - y),
    [2, 5],
  );
  t.same(a.decide(records.appId, key, 14).filter((decision) => decision === 'allow').length, 13);
  const { rows } = await pool.query(`SELECT count(*)::integer AS open FROM gate_replicas WHERE closed_at IS NULL`);
  t.same(rows, [{ open: 1 }]);
});

t.test('an older copy of the store is detected by its usage alone, and today is written again', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  await setQuota(pool, records.planId, 100, 'month');
  const { key, id } = await records.key();
  const clock = fakeClock(new Date('2026-03-04T12:00:00Z'));
  const a = replica(t, { url, clock, name: 'a' });
  await a.loaded();
  a.decide(records.appId, key, 5);
  await a.written();
  t.equal(await sumOf(pool, id), 5);
  const position = () => a.view.position()?.usage.version ?? 0;
  await a.until(() => position() === 1);
  // The copy was taken before that flush; since then another replica has written, up to the same version.
  await pool.query('UPDATE usage SET allowed = 1');
  await pool.query('UPDATE usage_marks SET token = gen_random_uuid()');
  await pool.query(
    `INSERT INTO usage (key_id, day, incarnation, allowed, version) VALUES ($1, '2026-03-04', $2, 3, 1)`,
    [id, newId()],
  );
  await a.until(async () => (await sumOf(pool, id)) === 8);
  await a.until(() => a.usage.allowed(a.slots.slotOf(id), 'month', a.usage.calendar(clock.now().getTime())) === 8);

  await pool.query('DELETE FROM gate_replicas');
  a.decide(records.appId, key, 1);
  await a.until(async () => (await sumOf(pool, id)) === 9);
  t.pass('a copy that does not know the replica gets its row');
});

t.test('a store that is down is written to when it is back; every failure is counted', async (t) => {
  const { pool, url } = await testDatabase(t);
  const proxy = await tcpProxy(t, url);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const clock = fakeClock();
  const a = replica(t, { url: proxy.url, clock, name: 'a' });
  await a.loaded();
  a.decide(records.appId, key, 2);
  await a.written();
  proxy.hang();
  a.decide(records.appId, key, 3);
  while (a.failures === 0) await clock.advance(1_000);
  a.decide(records.appId, key, 1);
  t.equal(await sumOf(pool, id), 2);
  proxy.resume();
  await a.written();
  t.equal(await sumOf(pool, id), 6);
  t.ok(a.failures > 0);
});
