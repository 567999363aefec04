import type { Pool } from 'pg';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { insertKey, type NewKey } from '../../../runtime/records/keys.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';

/** An environment with a plan and two apps, as the gate's tests need them. */
export interface GateRecords {
  environmentId: Id;
  planId: Id;
  appId: Id;
  otherAppId: Id;
  /** Creates a key on the plan for every app. */
  key(change?: Partial<NewKey>): Promise<{ key: string; id: Id; handle: string }>;
}

/** Records an app, as its controller does. */
export async function insertApp(pool: Pool, environmentId: Id, name: string): Promise<Id> {
  const id = newId();
  await pool.query(
    `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name, gated)
     VALUES ($1, 'App', $2, 'shop', 'prod', 'shop-prod', $3, true)`,
    [id, environmentId, name],
  );
  return id;
}

export async function insertGateRecords(
  pool: Pool,
  limit: { requestsPerSecond: number; burst: number } = { requestsPerSecond: 1000, burst: 1000 },
): Promise<GateRecords> {
  const environmentId = newId();
  const plan = await insertPlan(pool, { environmentId, name: 'basic', ...limit });
  return {
    environmentId,
    planId: plan.id,
    appId: await insertApp(pool, environmentId, 'api'),
    otherAppId: await insertApp(pool, environmentId, 'other'),
    async key(change) {
      const created = await insertKey(pool, {
        environmentId,
        name: null,
        planId: plan.id,
        scope: null,
        expiresAt: null,
        createdBy: 'test@example.com',
        ...change,
      });
      return { key: created.key, id: created.record.id, handle: created.record.handle };
    },
  };
}

/** The usage of a key in the store, by day and process life. */
export async function usageRows(pool: Pool, keyId: Id) {
  const { rows } = await pool.query<{ day: string; incarnation: Id; allowed: number; rate: number; quota: number }>(
    `SELECT day::text, incarnation, allowed::float8, rate_denied::float8 AS rate, quota_denied::float8 AS quota
     FROM usage WHERE key_id = $1 ORDER BY day, incarnation`,
    [keyId],
  );
  return rows;
}
