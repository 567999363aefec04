import type { Pool } from 'pg';
import { transaction } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/**
 * Removes the plans and keys of an environment: from then on nothing opens there. Repeating it is free.
 */
export async function closeEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await transaction(pool, async (client) => {
    // Keys first: they refer to plans.
    await client.query('DELETE FROM api_keys WHERE environment_id = $1', [environmentId]);
    await client.query('DELETE FROM plans WHERE environment_id = $1', [environmentId]);
  });
}

/**
 * Removes everything that is kept of an environment: plans, keys, workloads with their history, and the work that they
 * still wait for. Only for one whose namespace is gone: a workload that still lives would be recorded anew. Repeating it
 * is free.
 */
export async function deleteEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await closeEnvironmentRecords(pool, environmentId);
  await transaction(pool, async (client) => {
    await client.query(
      `DELETE FROM work WHERE record_id IN
         (SELECT deployments.id FROM deployments JOIN workloads ON workloads.id = deployments.workload_id
          WHERE workloads.environment_id = $1)`,
      [environmentId],
    );
    await client.query('DELETE FROM workloads WHERE environment_id = $1', [environmentId]);
  });
}
