import t from 'tap';
import type { Pool } from 'pg';
import type { Attempt } from '../../../runtime/bus/runner.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { housekeepingId } from '../../../runtime/queues/catalogue.ts';
import { foldedIncarnation, registerReplica } from '../../../runtime/records/gate-replicas.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { createHousekeepingProcessor } from '../../../workers/housekeeping/process.ts';
import { foldUsage } from '../../../workers/housekeeping/store.ts';
import { fakeClock } from '../../support/clock.ts';
import { silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { insertGateRecords } from '../../gate/authz/gate-records.ts';

const attempt = (signal = new AbortController().signal): Attempt => ({
  recordId: housekeepingId,
  attempt: 1,
  last: false,
  signal,
  log: silentLog,
});

async function usage(pool: Pool) {
  const { rows } = await pool.query<{ incarnation: Id; allowed: number; rate: number; quota: number; keys: number }>(
    `SELECT incarnation, sum(allowed)::integer AS allowed, sum(rate_denied)::integer AS rate,
       sum(quota_denied)::integer AS quota, count(*)::integer AS keys FROM usage GROUP BY incarnation ORDER BY incarnation`,
  );
  return rows;
}

/** Usage of `keys` for several days of one process life. */
async function insertUsage(pool: Pool, incarnation: Id, keys: readonly Id[], days: readonly string[]): Promise<void> {
  await pool.query(
    `INSERT INTO usage (key_id, day, incarnation, allowed, rate_denied, quota_denied, version)
     SELECT key, day, $1, 10, 2, 1, next_usage_version() FROM unnest($2::uuid[]) AS key, unnest($3::date[]) AS day`,
    [incarnation, keys, days],
  );
}

t.test('usage of ended checkers is folded in small steps, and the sums do not change', async (t) => {
  const { pool } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const keys = [(await records.key()).id, (await records.key()).id, (await records.key()).id];
  const [ended, silent, alive] = [newId(), newId(), newId()];
  for (const incarnation of [ended, silent, alive]) {
    await registerReplica(pool, incarnation, 'a');
    await insertUsage(pool, incarnation, keys, ['2026-03-01', '2026-03-02']);
  }
  await pool.query('UPDATE gate_replicas SET closed_at = now() WHERE incarnation = $1', [ended]);
  await pool.query(`UPDATE gate_replicas SET seen_at = now() - interval '11 minutes' WHERE incarnation = $1`, [silent]);
  await pool.query(`UPDATE gate_replicas SET seen_at = now() - interval '9 minutes' WHERE incarnation = $1`, [alive]);

  t.equal(await foldUsage(pool, ended, 4), 4);
  const total = (rows: { allowed: number }[]) => rows.reduce((sum, { allowed }) => sum + allowed, 0);
  t.equal(total(await usage(pool)), 180, 'in the middle of it');
  t.equal(await foldUsage(pool, alive, 4), 0, 'the usage of a live checker is not folded');

  const clock = fakeClock(new Date('2026-03-02T12:00:00Z'));
  const process = createHousekeepingProcessor({ pool, clock, batch: 4 });
  t.same(await process(attempt()), { again: new Date('2026-03-02T13:00:00Z') });
  t.same(await usage(pool), [
    { incarnation: foldedIncarnation, allowed: 120, rate: 24, quota: 12, keys: 6 },
    { incarnation: alive, allowed: 60, rate: 12, quota: 6, keys: 6 },
  ]);
  const versions = await pool.query<{ read: boolean }>(
    `SELECT bool_and(usage.version > 9) AS read FROM usage WHERE incarnation = $1`,
    [foldedIncarnation],
  );
  t.same(versions.rows, [{ read: true }], 'clients that follow usage read the rows again');
  t.same(await process(attempt()), { again: new Date('2026-03-02T13:00:00Z') }, 'a repeated step has nothing to do');
  t.equal(total(await usage(pool)), 180);
});

t.test('old records are deleted, and no others', async (t) => {
  const { pool } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const { id } = await records.key();
  const clock = fakeClock(new Date('2026-05-31T00:00:00Z'));
  await insertUsage(pool, newId(), [id], ['2026-02-27', '2026-02-28', '2026-03-01', '2026-05-31', '2026-06-01']);
  const [old, recent, pending] = [newId(), newId(), newId()];
  for (const [record, done] of [
    [old, '2026-05-23'],
    [recent, '2026-05-30'],
    [pending, null],
  ] as const) {
    await pool.query(`INSERT INTO work (id, kind, record_id, state, done_at) VALUES ($1, 'rollouts', $1, $2, $3)`, [
      record,
      done ? 'done' : 'pending',
      done,
    ]);
  }
  await pool.query(`INSERT INTO users (id, email, password_hash, role) VALUES ($1, 'a@b.c', '', 'admin')`, [newId()]);
  for (const expiry of ['2026-05-30T23:59:59Z', '2026-05-31T00:00:01Z']) {
    await pool.query(`INSERT INTO sessions (id, user_id, token_digest, expires_at) SELECT $1, id, $2, $3 FROM users`, [
      newId(),
      Buffer.from(expiry),
      expiry,
    ]);
  }
  for (const expiry of ['2026-04-30T23:59:59Z', '2026-05-02T00:00:01Z']) {
    await pool.query(
      `INSERT INTO access_tokens (id, project_id, project, name, handle, digest, scopes, user_id, expires_at)
       SELECT $1, $1, 'shop', 'ci', $2, '', '{read}', id, $3 FROM users`,
      [newId(), `of ${expiry}`, expiry],
    );
  }
  const target = newId();
  await pool.query(
    `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events)
     VALUES ($1, $1, 'shop', 'ops', 'https://example.com', '', '{}')`,
    [target],
  );
  const [sent, lately, waiting] = [newId(), newId(), newId()];
  for (const [delivery, ended] of [
    [sent, '2026-04-30'],
    [lately, '2026-05-02'],
    [waiting, null],
  ] as const) {
    await pool.query(
      `INSERT INTO notification_deliveries (id, target_id, type, state, ended_at, created_at)
       VALUES ($1, $2, 'notification.test', $3, $4, '2026-04-01')`,
      [delivery, target, ended ? 'delivered' : 'pending', ended],
    );
    await pool.query('INSERT INTO notification_attempts (delivery_id, duration_ms) VALUES ($1, 1)', [delivery]);
  }
  const app = newId();
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
     VALUES ($1, 'App', $1, 'shop', 'prod', 'shop-prod', 'hooked')`,
    [app],
  );
  const [early, late] = [newId(), newId()];
  for (const [delivery, received] of [
    [early, '2026-04-30T23:59:59Z'],
    [late, '2026-05-01T00:00:01Z'],
  ] as const) {
    await pool.query(
      `INSERT INTO webhook_deliveries (id, workload_id, received_at, sender, verdict, status, body, body_bytes)
       VALUES ($1, $2, $3, 'svc', 'ignored', 200, '{}', 2)`,
      [delivery, app, received],
    );
  }
  const [built, builtLate] = [newId(), newId()];
  for (const [deployment, revision, updated] of [
    [built, 1, '2026-03-01T23:59:59Z'],
    [builtLate, 2, '2026-03-02T00:00:01Z'],
  ] as const) {
    await pool.query(
      `INSERT INTO deployments (id, workload_id, revision, trigger, state, image, ended_at)
       VALUES ($1, $2, $3, 'git', 'succeeded', '', now())`,
      [deployment, app, revision],
    );
    await pool.query(`INSERT INTO build_logs VALUES ($1, 'log', false, $2)`, [deployment, updated]);
    await pool.query(`INSERT INTO crash_logs VALUES ($1, 'pod', 'log', false, $2)`, [deployment, updated]);
  }
  const [forgotten, remembered] = [newId(), newId()];
  for (const [entry, at] of [
    [forgotten, '2026-03-01T23:59:59Z'],
    [remembered, '2026-03-02T00:00:01Z'],
  ] as const) {
    await pool.query(
      `INSERT INTO audit_entries (id, at, action, actor, details) VALUES ($1, $2, 'app.update', 'a@b.c', '{}')`,
      [entry, at],
    );
  }
  const [talker, ...conversations] = [newId(), newId(), newId()];
  await pool.query(`INSERT INTO users (id, email, password_hash, role) VALUES ($1, 't@b.c', 'x', 'member')`, [talker]);
  for (const [index, at] of ['2026-04-30T23:59:59Z', '2026-05-02T00:00:01Z'].entries()) {
    await pool.query(
      `INSERT INTO assistant_conversations (id, user_id, project_id, created_at, updated_at) VALUES ($1, $2, $2, '2026-04-01', $3)`,
      [conversations[index], talker, at],
    );
    await pool.query(
      `INSERT INTO assistant_messages (id, conversation_id, state, content) VALUES ($1, $1, 'answered', 'x')`,
      [conversations[index]],
    );
    await pool.query('INSERT INTO assistant_usage (user_id, hour) VALUES ($1, $2)', [talker, at]);
  }
  const [gone, kept] = [newId(), newId()];
  for (const [incarnation, folded] of [
    [gone, '2026-02-01'],
    [kept, '2026-03-10'],
  ] as const) {
    await registerReplica(pool, incarnation, 'a');
    await pool.query('UPDATE gate_replicas SET closed_at = $2, folded_at = $2 WHERE incarnation = $1', [
      incarnation,
      folded,
    ]);
  }
  await createHousekeepingProcessor({ pool, clock, batch: 1 })(attempt());
  const column = async (text: string) => (await pool.query<{ value: string }>(text)).rows.map(({ value }) => value);
  t.same(
    await column('SELECT day::text AS value FROM usage ORDER BY day'),
    ['2026-03-01', '2026-05-31', '2026-06-01'],
    '92 days including today',
  );
  t.same(await column('SELECT id AS value FROM work ORDER BY id'), [recent, pending].sort());
  t.same(await column(`SELECT expires_at::date::text AS value FROM sessions`), ['2026-05-31']);
  t.same(await column(`SELECT expires_at::date::text AS value FROM access_tokens`), ['2026-05-02']);
  t.same(await column('SELECT id AS value FROM notification_deliveries ORDER BY id'), [lately, waiting].sort());
  t.equal((await column('SELECT delivery_id AS value FROM notification_attempts')).length, 2, 'and its attempts');
  t.same(await column('SELECT id AS value FROM webhook_deliveries'), [late]);
  t.same(await column('SELECT deployment_id AS value FROM build_logs'), [builtLate]);
  t.same(await column('SELECT deployment_id AS value FROM crash_logs'), [builtLate]);
  t.same(await column('SELECT id AS value FROM audit_entries'), [remembered], '90 days');
  t.same(await column('SELECT id AS value FROM assistant_conversations'), [conversations[1]], '30 days');
  t.same(await column('SELECT id AS value FROM assistant_messages'), [conversations[1]], 'and its messages');
  t.equal((await column('SELECT hour::text AS value FROM assistant_usage')).length, 1);
  t.same(await column('SELECT incarnation AS value FROM gate_replicas'), [kept]);
});

t.test('records beyond the limit of one attempt are left for the next, which is due at once', async (t) => {
  const { pool } = await testDatabase(t);
  const records = await insertGateRecords(pool);
  const ended = newId();
  await registerReplica(pool, ended, 'a');
  await pool.query('UPDATE gate_replicas SET closed_at = now()');
  await insertUsage(pool, ended, [(await records.key()).id], ['2026-03-01']);
  const clock = fakeClock(new Date('2026-03-01T00:00:00Z'));
  const process = createHousekeepingProcessor({ pool, clock, batch: 1 });
  const cut = new AbortController();
  cut.abort();
  t.same(await process(attempt(cut.signal)), { again: clock.now() });
  t.match(await usage(pool), [{ incarnation: ended }]);
  t.same(await process(attempt()), { again: new Date('2026-03-01T01:00:00Z') });
  t.match(await usage(pool), [{ incarnation: foldedIncarnation }]);
});

t.test('dead letters of last month are forgotten, and stay known to their source', async (t) => {
  const { pool } = await testDatabase(t);
  const id = newId();
  const place = { namespace: 'shop-prod', project: 'shop', environment: 'prod', environmentId: newId() };
  await projectWorkload(pool, { id, name: 'intake', kind: 'Function', gated: false, ...place });
  await pool.query(
    `INSERT INTO function_events (workload_id, origin, event_id, payload, state, ended_at) VALUES
       ($1, 'o', 'old', '1', 'dead', '2026-03-01'), ($1, 'o', 'new', '2', 'dead', '2026-03-20'),
       ($1, 'o', 'waiting', '3', 'pending', NULL)`,
    [id],
  );
  const process = createHousekeepingProcessor({ pool, clock: fakeClock(new Date('2026-04-02T12:00:00Z')) });
  await process(attempt());
  const { rows } = await pool.query(
    `SELECT event_id AS id, state, payload, due_at = 'infinity' AS kept FROM function_events ORDER BY event_id`,
  );
  t.same(rows, [
    { id: 'new', state: 'dead', payload: '2', kept: false },
    { id: 'old', state: 'known', payload: '', kept: true },
    { id: 'waiting', state: 'pending', payload: '3', kept: false },
  ]);
});
