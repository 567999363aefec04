import type { Test } from 'tap';
import { createKeyRoutes } from '../../../functions/keys/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testEnvironments } from '../environments.ts';

export const shop = '/api/v1/projects/shop/api-keys';
export const wide = '/api/v1/projects/wide/api-keys';

/** The routes of keys on a real database, at noon of 2026-03-01; every environment has a plan `small` and apps `api`, `web`. */
export async function keyRig(t: Test) {
  const { pool } = await testDatabase(t);
  const environments = testEnvironments();
  const clock = fakeClock(new Date('2026-03-01T12:00:00Z'));
  const log = recordingLog();
  const findGated = async (namespace: string, name: string) => {
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id FROM workloads WHERE namespace = $1 AND name = $2 AND deleted_at IS NULL',
      [namespace, name],
    );
    return rows[0];
  };
  const api = await testApi(t, { routes: createKeyRoutes({ pool, clock, findGated, ...environments }), log: log.log });
  const plans = new Map<string, string>();
  for (const { namespace, environmentId, project, environment } of environments.all) {
    const plan = await insertPlan(pool, { environmentId, name: 'small', requestsPerSecond: 5, burst: 5 });
    plans.set(namespace, plan.id);
    for (const app of ['api', 'web']) {
      await pool.query(
        `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
         VALUES ($1, 'App', $2, $3, $4, $5, $6)`,
        [newId(), environmentId, project, environment, namespace, app],
      );
    }
  }
  const head = async () => {
    const { rows } = await pool.query<{ version: number }>('SELECT version::integer AS version FROM feed_head');
    return rows[0]?.version;
  };
  return {
    pool,
    clock,
    log,
    plans,
    environments,
    head,
    call: (...request: Parameters<typeof api.call>) => api.call(...request),
    /** Creates a key on the plan `small` of shop's only environment. */
    create: async (change: Record<string, unknown> = {}) => {
      const created = await api.call('POST', shop, { body: { plan: 'small', ...change } });
      t.equal(created.status, 201, created.text);
      const { key, change: gateChange, ...view } = created.body;
      return { key: key as string, version: gateChange.version as number, view };
    },
    audits: () => log.entries.filter(({ msg }) => msg === 'apikey audit'),
    rows: async () => (await pool.query('SELECT * FROM api_keys')).rows as Record<string, unknown>[],
  };
}
