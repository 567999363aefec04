import pg, { type Pool } from 'pg';
import t, { type Test } from 'tap';
import { createPool, transaction } from '../../../runtime/db/pool.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import {
  acceptDeliveries,
  acceptDelivery,
  type DeliveredRequest,
} from '../../../runtime/records/webhook-deliveries.ts';
import { enableWebhook, findReceivers } from '../../../runtime/records/webhooks.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testDatabase } from '../../support/postgres.ts';

/** Apps with these names, whose webhook has a token of version 1. */
async function hookedApps(t: Test, names: readonly string[]) {
  const { pool, url } = await testDatabase(t);
  const ids = new Map(names.map((name) => [name, newId()]));
  for (const [name, id] of ids) {
    const place = { environmentId: newId(), project: 'shop', environment: 'prod', namespace: 'shop-prod' };
    await projectWorkload(pool, { id, kind: 'App', ...place, name, gated: false });
    await enableWebhook(pool, id, 1);
  }
  const idOf = (app: string): Id => ids.get(app) ?? newId();
  const request = (app: string, image: string, changes: Partial<DeliveredRequest> = {}): DeliveredRequest => ({
    delivery: {
      workloadId: idOf(app),
      sender: 'token',
      webhookEvent: { image },
      body: `{"image":"${image}"}`,
      bodyBytes: 9,
    },
    deployment: { workloadId: idOf(app), trigger: 'webhook', image, proof: { version: 1 } },
    ...changes,
  });
  return { pool, url, idOf, requestOf: request };
}

async function written(pool: Pool) {
  const { rows } = await pool.query<{ name: string; revision: number | null; image: string; verdict: string }>(
    `SELECT w.name, d.revision, d.image, v.verdict, v.status, v.webhook_event->>'image' AS event, v.body FROM webhook_deliveries v
     JOIN deployments d ON d.id = v.deployment_id JOIN workloads w ON w.id = v.workload_id AND w.id = d.workload_id
     ORDER BY w.name, d.revision, verdict`,
  );
  return rows;
}

t.test('several in one statement have the same effect as one after the other', async (t) => {
  const { pool, requestOf } = await hookedApps(t, ['a', 'b', 'c']);
  const keyed = requestOf('c', 'r/c:1');
  keyed.deployment.dedupKey = 'delivery:1';
  const accepted = await acceptDeliveries(pool, [
    requestOf('b', 'r/b:1'),
    requestOf('a', 'r/a:1'),
    requestOf('a', 'r/a:2'),
    keyed,
    structuredClone(keyed),
    {
      ...requestOf('b', 'r/b:2'),
      deployment: { ...requestOf('b', '').deployment, reason: 'A reason.', skipped: true },
    },
  ]);
  t.match(accepted, [
    { verdict: 'accepted', revision: 1, state: 'accepted', created: true, superseded: [] },
    { verdict: 'accepted', revision: 1 },
    { verdict: 'accepted', revision: 2, superseded: [accepted[1]?.id] },
    { verdict: 'accepted', revision: 1 },
    { verdict: 'duplicate', revision: 1, created: false, id: accepted[3]?.id },
    { verdict: 'skipped', revision: null, state: 'skipped' },
  ]);
  t.equal(new Set(accepted.map((each) => each?.delivery)).size, 6);
  t.match(await written(pool), [
    {
      name: 'a',
      revision: 1,
      image: 'r/a:1',
      verdict: 'accepted',
      status: 202,
      event: 'r/a:1',
      body: '{"image":"r/a:1"}',
    },
    { name: 'a', revision: 2, image: 'r/a:2', verdict: 'accepted' },
    { name: 'b', revision: 1, image: 'r/b:1', verdict: 'accepted' },
    { name: 'b', revision: null, verdict: 'skipped', status: 200 },
    { name: 'c', revision: 1, verdict: 'accepted', status: 202 },
    { name: 'c', revision: 1, verdict: 'duplicate', status: 202 },
  ]);
  const { rows } = await pool.query('SELECT count(DISTINCT xmin::text) AS commits FROM webhook_deliveries');
  t.match(rows, [{ commits: '1' }]);
});

t.test('a locked app is left out, and the others do not wait for it', async (t) => {
  const { pool, idOf, requestOf } = await hookedApps(t, ['a', 'b']);
  await transaction(pool, async (holder) => {
    await holder.query('SELECT 1 FROM workloads WHERE id = $1 FOR NO KEY UPDATE', [idOf('a')]);
    const accepted = await acceptDeliveries(pool, [requestOf('a', 'r/a:1'), requestOf('b', 'r/b:1')]);
    t.match(accepted, [undefined, { verdict: 'accepted' }]);
    t.match(await written(pool), [{ name: 'b' }]);
  });
  t.match(await acceptDelivery(pool, requestOf('a', 'r/a:1')), { verdict: 'accepted', revision: 1 });
});

t.test('when one of several is refused, nothing is written, and each may be retried alone', async (t) => {
  const { pool, requestOf } = await hookedApps(t, ['a', 'b']);
  const revoked = requestOf('b', 'r/b:1');
  revoked.deployment.proof = { version: 2 };
  t.same(await acceptDeliveries(pool, [requestOf('a', 'r/a:1'), revoked]), [undefined, undefined]);
  // A request that PostgreSQL cannot store must not fail the others either.
  const unstorable = requestOf('b', 'r/b:1');
  unstorable.delivery.body = 'zero \0';
  t.same(await acceptDeliveries(pool, [requestOf('a', 'r/a:1'), unstorable]), [undefined, undefined]);
  t.same(await written(pool), []);
  await t.rejects(acceptDelivery(pool, revoked), { code: 'invalid_webhook_token' });
  t.same(await acceptDeliveries(pool, [requestOf('gone', 'r/x:1')]), [undefined]);
  await t.rejects(acceptDelivery(pool, requestOf('gone', 'r/x:1')), { code: 'not_ready' });
  t.same(await written(pool), []);
});

t.test('when the commit is uncertain, nothing is retried', async (t) => {
  const { pool, requestOf } = await hookedApps(t, ['a']);
  const query = pool.query.bind(pool) as (...args: unknown[]) => Promise<unknown>;
  const ended = Object.assign(new pg.DatabaseError('terminating connection', 1, 'error'), { code: '57P01' });
  for (const error of [new Error('Connection terminated unexpectedly'), ended]) {
    Object.assign(pool, { query: (...args: unknown[]) => query(...args).then(() => Promise.reject(error)) });
    await t.rejects(acceptDeliveries(pool, [requestOf('a', 'r/a:1')]), error);
  }
  Object.assign(pool, { query });
  t.match(await written(pool), [{ revision: 1 }, { revision: 2 }]);
});

t.test('an acceptance reads as few rows among many deployments as among few', async (t) => {
  const { pool, requestOf } = await hookedApps(t, ['a', 'b']);
  const client = await pool.connect();
  t.teardown(() => client.release(true));
  for (const table of ['workloads', 'deployments', 'work']) {
    await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  }
  /** Rows that the acceptance of a deployment, which supersedes another, reads of each table. */
  const rowsRead = async (image: string) => {
    // The counts are of this transaction only.
    await client.query('SELECT pg_stat_force_next_flush()');
    await client.query('BEGIN');
    const [accepted] = await acceptDeliveries(client, [requestOf('a', image)]);
    const { rows } = await client.query<{ name: string; read: number }>(
      `SELECT relname AS name, (seq_tup_read + COALESCE(idx_tup_fetch, 0))::integer AS read FROM pg_stat_xact_user_tables
       WHERE relname IN ('workloads', 'deployments', 'work') ORDER BY relname`,
    );
    await client.query('COMMIT');
    t.equal(accepted?.superseded.length, 1);
    return rows;
  };
  // Makes the plans while the tables are small, which are kept.
  await acceptDeliveries(client, [requestOf('a', 'r/a:1'), requestOf('b', 'r/b:1')]);
  await client.query('SET plan_cache_mode = force_generic_plan');
  const few = await rowsRead('r/a:2');
  await client.query(
    `WITH app AS (
       INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
       SELECT gen_random_uuid(), 'App', gen_random_uuid(), 'blog', 'prod', 'blog-prod', 'b' || number, false
       FROM generate_series(1, 1000) AS number RETURNING id),
     active AS (
       INSERT INTO deployments (id, workload_id, revision, trigger, state, image, accepted_at)
       SELECT gen_random_uuid(), id, 1, 'webhook', 'accepted', 'r/b:1', now() FROM app RETURNING id)
     INSERT INTO work (id, kind, record_id) SELECT gen_random_uuid(), kind, id FROM active, unnest('{rollouts,builds}'::text[]) AS kind`,
  );
  t.same(await rowsRead('r/a:3'), few);
});

t.test('the statements of a webhook are planned once, with the indexes that large tables need', async (t) => {
  const { url, requestOf } = await hookedApps(t, ['a']);
  const pool = createPool({ url, max: 1, keepsPlans: true });
  t.teardown(() => pool.end());
  for (let number = 1; number <= 8; number++) {
    await findReceivers(pool, [{ namespace: 'shop-prod', app: 'a' }]);
    await acceptDeliveries(pool, [requestOf('a', `r/a:${number}`)]);
  }
  const { rows } = await pool.query(
    `SELECT name, generic_plans::integer AS kept, custom_plans::integer AS "forValues" FROM pg_prepared_statements ORDER BY name`,
  );
  t.same(rows, [
    { name: 'accept-webhook-deliveries', kept: 8, forValues: 0 },
    { name: 'find-receivers', kept: 8, forValues: 0 },
  ]);
  const { rows: plan } = await pool.query<{ 'QUERY PLAN': string }>(
    `EXPLAIN EXECUTE "find-receivers" ('{shop-prod}', '{a}')`,
  );
  t.notMatch(plan.map((line) => line['QUERY PLAN']).join('\n'), /Seq Scan/);
});
