import t, { type Test } from 'tap';
import { createFeed } from '../../../gate/authz/feed.ts';
import type { PollOutcome } from '../../../gate/authz/feed-poll.ts';
import { createPostgresStore } from '../../../gate/authz/store.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { deleteKey, updateKey } from '../../../runtime/records/keys.ts';
import { deletePlan, insertPlan } from '../../../runtime/records/plans.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { insertApp, insertGateRecords } from './gate-records.ts';
import { bench, request } from './records.ts';
import { tcpProxy } from './tcp-proxy.ts';

/** PostgreSQL's code of a statement that waited too long for a lock. */
const lockTimeout = '55P03';

interface RigOptions {
  url: string;
  /** Loses every notification. */
  deaf?: boolean;
}

/** A feed on a stopped clock: it polls on a notification or when the test says so. */
function rig(t: Test, { url, deaf = false }: RigOptions) {
  const clock = fakeClock();
  const { view, usage, rates, check } = bench();
  const outcomes: PollOutcome[] = [];
  let wake: (() => void) | undefined;
  const store = createPostgresStore({ connectionString: url, application_name: 'feed' });
  const feed = createFeed({
    store: { connect: (nudge) => store.connect(deaf ? () => undefined : nudge) },
    view,
    usage,
    rates,
    name: 'svc-authz-1',
    clock,
    log: silentLog,
    observe(outcome) {
      outcomes.push(outcome);
      wake?.();
    },
  });
  t.teardown(() => feed.stop());
  feed.start();
  return {
    clock,
    view,
    usage,
    outcomes,
    feed,
    /** Resolves at the end of the next attempt, or of one that has ended since the last call. */
    async polled(): Promise<PollOutcome> {
      for (;;) {
        const outcome = outcomes.shift();
        if (outcome) return outcome;
        await new Promise<void>((resolve) => (wake = resolve));
      }
    },
    /** Resolves at the first attempt with this result. */
    async until(outcome: PollOutcome): Promise<void> {
      while ((await this.polled()) !== outcome);
    },
    /**
     * Advances the clock second by second until an attempt has this result. An attempt has a real second for each: the
     * network needs real time, and more of it on a busy machine.
     */
    async passUntil(outcome: PollOutcome): Promise<void> {
      while (!outcomes.splice(0).includes(outcome)) {
        await clock.advance(1_000);
        if (outcomes.length > 0) continue;
        const outcome = new Promise<void>((resolve) => (wake = resolve));
        await Promise.race([outcome, systemClock.sleep(1_000)]);
      }
    },
    decision(appId: string, apiKey: string) {
      const moment = { monotonic: clock.monotonic(), wall: clock.now().getTime() };
      return check(request({ appId, apiKey }), moment).decision;
    },
  };
}

t.test('a view is loaded, and follows every kind of change on its notification', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool, { requestsPerSecond: 1, burst: 1 });
  const first = await records.key();
  const gate = rig(t, { url });
  t.equal(gate.decision(records.appId, first.key), 'unavailable');
  t.equal(await gate.polled(), 'loaded');
  t.equal(gate.decision(records.appId, first.key), 'allow');
  t.equal(gate.decision(records.appId, first.key), 'deny_rate');

  await pool.query('UPDATE plans SET burst = 1000 WHERE id = $1', [records.planId]);
  await gate.until('applied');
  t.equal(gate.decision(records.appId, first.key), 'allow', 'a changed plan');

  const second = await records.key({ scope: [records.otherAppId] });
  await gate.until('applied');
  t.equal(gate.decision(records.otherAppId, second.key), 'allow', 'a new key');
  t.equal(gate.decision(records.appId, second.key), 'deny_key');

  await updateKey(pool, first.id, { enabled: false });
  await gate.until('applied');
  t.equal(gate.decision(records.appId, first.key), 'deny_key', 'a disabled key');
  await updateKey(pool, first.id, { enabled: true });
  await gate.until('applied');
  t.equal(gate.decision(records.appId, first.key), 'allow', 'an enabled key');

  await deleteKey(pool, second.id);
  await gate.until('applied');
  t.equal(gate.decision(records.otherAppId, second.key), 'deny_key', 'a revoked key');

  const app = await insertApp(pool, records.environmentId, 'new');
  await gate.until('applied');
  t.equal(gate.decision(app, first.key), 'allow', 'a new app');
  await pool.query('UPDATE workloads SET deleted_at = now() WHERE id = $1', [app]);
  await gate.until('applied');
  t.equal(gate.decision(app, first.key), 'misconfigured', 'a deleted app');

  const spare = await insertPlan(pool, {
    environmentId: records.environmentId,
    name: 'x',
    requestsPerSecond: 1,
    burst: 1,
  });
  await gate.until('applied');
  await deletePlan(pool, spare.id);
  await gate.until('applied');
  t.same(gate.view.size(), { keys: 1, plans: 1, apps: 2 });
  t.equal(gate.clock.monotonic(), 0, 'no time has passed');
});

t.test('without notifications, polls alone apply a revocation within two seconds', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const gate = rig(t, { url, deaf: true });
  t.equal(await gate.polled(), 'loaded');
  t.equal(gate.decision(records.appId, key), 'allow');
  await deleteKey(pool, id);
  await gate.clock.advance(2_000);
  await gate.until('applied');
  t.equal(gate.decision(records.appId, key), 'deny_key');
});

t.test('freshness is the moment before the poll that proved it, whatever the wall clock shows', async (t) => {
  const { url } = await testDatabase(t);
  const gate = rig(t, { url, deaf: true });
  t.equal(gate.view.ageMs(0), undefined);
  t.equal(await gate.polled(), 'loaded');
  await gate.clock.advance(1_000);
  t.equal(await gate.polled(), 'unchanged');
  t.equal(gate.view.ageMs(gate.clock.monotonic()), 0);
  gate.clock.jump(3_600_000);
  t.equal(gate.view.ageMs(gate.clock.monotonic()), 0);
  gate.clock.jump(-7_200_000);
  t.ok(gate.view.fresh(gate.clock.monotonic()));
});

t.test('versions are in commit order and have no gap', async (t) => {
  const { pool, url } = await testDatabase(t);
  const gate = rig(t, { url });
  t.equal(await gate.polled(), 'loaded');
  const environmentId = newId();
  const plan = (name: string) => ({ environmentId, name, requestsPerSecond: 1, burst: 1 });
  const head = async () => {
    const { rows } = await pool.query<{ version: string; changes: string }>(
      'SELECT version, (SELECT count(*) FROM changes) AS changes FROM feed_head',
    );
    return [Number(rows[0]?.version), Number(rows[0]?.changes)];
  };

  const slow = await pool.connect();
  await slow.query('BEGIN');
  await insertPlan(slow, plan('slow'));
  const fast = insertPlan(pool, plan('fast'));
  await gate.clock.advance(1_000);
  t.equal(await gate.polled(), 'unchanged', 'nothing before the first of them commits');
  t.equal(gate.view.size().plans, 0);
  await slow.query('COMMIT');
  await fast;
  while (gate.view.size().plans < 2) await gate.until('applied');
  t.equal(gate.view.position()?.feed.version, 2);

  await slow.query('BEGIN');
  await insertPlan(slow, plan('undone'));
  const after = insertPlan(pool, plan('after'));
  await slow.query('ROLLBACK');
  slow.release();
  await after;
  while (gate.view.size().plans < 3) await gate.until('applied');
  t.same(await head(), [3, 3], 'a change that is rolled back uses no version');

  await pool.query(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst)
     SELECT gen_random_uuid(), $1, 'bulk ' || n, 1, 1 FROM generate_series(1, 500) AS n`,
    [environmentId],
  );
  await gate.until('applied');
  t.same(await head(), [503, 503], 'a bulk write uses one version per row');
  t.equal(gate.view.size().plans, 503);
});

t.test('changes of fields that the gate does not use create no version', async (t) => {
  const { pool } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const version = async () => (await pool.query<{ version: string }>('SELECT version FROM feed_head')).rows[0]?.version;
  const before = await version();
  await pool.query('UPDATE workloads SET created_at = now()');
  await pool.query('UPDATE plans SET burst = burst');
  await pool.query('DELETE FROM api_keys');
  t.equal(await version(), before);
  await pool.query(`UPDATE workloads SET name = 'renamed' WHERE id = $1`, [records.appId]);
  t.equal(Number(await version()), Number(before) + 1);
});

t.test('a writer that holds the feed may neither idle nor wait for long', async (t) => {
  const { pool } = await testDatabase(t);
  const client = await pool.connect();
  t.teardown(() => client.release());
  const limit = async () =>
    (await client.query<{ limit: string }>(`SELECT current_setting('idle_in_transaction_session_timeout') AS limit`))
      .rows[0]?.limit;
  await client.query('BEGIN');
  t.equal(await limit(), '0');
  await insertPlan(client, { environmentId: newId(), name: 'x', requestsPerSecond: 1, burst: 1 });
  t.equal(await limit(), '5s');
  await client.query('COMMIT');
  t.equal(await limit(), '0');
  const { rows } = await pool.query<{ config: string[] }>(
    `SELECT proconfig AS config FROM pg_proc WHERE proname = 'append_changes'`,
  );
  t.same(rows[0]?.config, ['lock_timeout=5s']);
});

t.test('a writer that locks usage is ended as well', async (t) => {
  const { pool } = await testDatabase(t);
  const client = await pool.connect();
  t.teardown(() => client.release());
  await client.query('BEGIN');
  await client.query('SELECT next_usage_version()');
  const { rows } = await client.query(`SELECT current_setting('idle_in_transaction_session_timeout') AS limit`);
  t.same(rows, [{ limit: '5s' }]);
  await client.query('ROLLBACK');
});

t.test('a writer that hangs in its transaction is cut off; the gate stays fresh and gets later changes', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const gate = rig(t, { url });
  t.equal(await gate.polled(), 'loaded');
  const writer = await pool.connect();
  writer.on('error', () => undefined);
  await writer.query('BEGIN');
  await insertPlan(writer, { environmentId: records.environmentId, name: 'x', requestsPerSecond: 1, burst: 1 });
  // It waits for the one that hangs. Its own limit is as long as that of the other, so either may end first.
  let waiting = true;
  const revoke = (): Promise<boolean> =>
    deleteKey(pool, id).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === lockTimeout) return revoke();
      throw error;
    });
  const revoked = revoke().finally(() => (waiting = false));
  const outcomes = new Set<PollOutcome>();
  while (gate.decision(records.appId, key) !== 'deny_key') {
    await gate.clock.advance(1_000);
    outcomes.add(await gate.polled());
    if (waiting && gate.decision(records.appId, key) !== 'allow') t.fail('not fresh, or too early');
  }
  t.equal(await revoked, true);
  t.same(outcomes, new Set(['unchanged', 'applied']));
  t.same(gate.view.size(), { keys: 0, plans: 1, apps: 2 }, 'the write that hung was rolled back');
  writer.release(true);
});

t.test('a feed with another history is loaded again', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const gate = rig(t, { url, deaf: true });
  t.equal(await gate.polled(), 'loaded');
  const next = async () => {
    await gate.clock.advance(1_000);
    return gate.polled();
  };

  t.test('another feed id', async (t) => {
    await pool.query('UPDATE feed_head SET feed_id = gen_random_uuid()');
    t.equal(await next(), 'loaded');
    t.equal(await next(), 'unchanged');
  });

  t.test('a lower version, as after a failover to an older copy', async (t) => {
    await pool.query('ALTER TABLE api_keys DISABLE TRIGGER api_keys_feed_update');
    await updateKey(pool, id, { enabled: false });
    await pool.query('ALTER TABLE api_keys ENABLE TRIGGER api_keys_feed_update');
    await pool.query('DELETE FROM changes WHERE version = (SELECT max(version) FROM changes)');
    await pool.query('UPDATE feed_head SET version = version - 1');
    t.equal(gate.decision(records.appId, key), 'allow');
    t.equal(await next(), 'loaded');
    t.equal(gate.decision(records.appId, key), 'deny_key');
  });

  t.test('an older copy with later writes', async (t) => {
    await pool.query('UPDATE changes SET token = gen_random_uuid() WHERE version = (SELECT max(version) FROM changes)');
    await updateKey(pool, id, { enabled: true });
    t.equal(await next(), 'loaded');
    t.equal(gate.decision(records.appId, key), 'allow');
  });

  t.test('a gap', async (t) => {
    await updateKey(pool, id, { enabled: false });
    await updateKey(pool, id, { enabled: true });
    await pool.query('DELETE FROM changes WHERE version = (SELECT max(version) - 1 FROM changes)');
    t.equal(await next(), 'loaded');
    t.equal(await next(), 'unchanged');
  });
});

t.test('a cut connection is restored, and changes made while it was down are applied', async (t) => {
  const { pool, url } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const gate = rig(t, { url });
  t.equal(await gate.polled(), 'loaded');
  const { rowCount } = await pool.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'feed' AND datname = current_database()`,
  );
  t.equal(rowCount, 1);
  t.equal(await gate.polled(), 'failed');
  await updateKey(pool, id, { enabled: false });
  await gate.passUntil('applied');
  t.equal(gate.decision(records.appId, key), 'deny_key');
  t.ok(gate.clock.monotonic() < 45_000, 'long before the limit');
});

t.test('a standby proves no freshness', async (t) => {
  const { pool, url } = await testDatabase(t);
  await pool.query('CREATE SCHEMA shadow');
  await pool.query(`CREATE FUNCTION shadow.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
  const gate = rig(t, { url: `${url}?options=-csearch_path%3Dshadow,pg_catalog,public` });
  t.equal(await gate.polled(), 'failed');
  t.equal(gate.view.position(), undefined);
  await pool.query('DROP SCHEMA shadow CASCADE');
  await gate.passUntil('loaded');
  t.ok(gate.view.fresh(gate.clock.monotonic()), 'it resumes once it is the primary');
});

t.test('a store that hangs closes the gate by 90 s, and the gate opens again by itself', async (t) => {
  const { pool, url } = await testDatabase(t);
  const proxy = await tcpProxy(t, url);
  const records = await insertGateRecords(pool);
  const { key, id } = await records.key();
  const gate = rig(t, { url: proxy.url });
  t.equal(await gate.polled(), 'loaded');
  proxy.hang();
  await deleteKey(pool, id);
  await gate.passUntil('failed');
  t.ok(gate.clock.monotonic() <= 7_000, 'a poll that hangs times out');
  while (gate.clock.monotonic() < 89_000) {
    await gate.clock.advance(500);
    if (gate.decision(records.appId, key) === 'deny_key') t.fail('the store was reached');
  }
  t.equal(gate.decision(records.appId, key), 'allow', 'the view is still fresh enough');
  await gate.clock.advance(1_000);
  t.equal(gate.clock.monotonic(), 90_000);
  t.equal(gate.decision(records.appId, key), 'unavailable');
  proxy.resume();
  await gate.passUntil('applied');
  t.equal(gate.decision(records.appId, key), 'deny_key', 'fresh, and the revocation is known');
});

t.test('stopping does not wait for a store that hangs', async (t) => {
  const { url } = await testDatabase(t);
  const proxy = await tcpProxy(t, url);
  const gate = rig(t, { url: proxy.url });
  t.equal(await gate.polled(), 'loaded');
  proxy.hang();
  await gate.clock.advance(1_000);
  await gate.feed.stop();
  t.equal(gate.clock.sleepers(), 0);
});
