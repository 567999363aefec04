import type { Pool } from 'pg';
import { transaction } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** Deletes the plans, keys and access tokens of an environment; its gated workloads then accept no key. Idempotent. */
export async function closeEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await transaction(pool, async (client) => {
    await client.query('DELETE FROM access_tokens WHERE environment_id = $1', [environmentId]);
    // Keys first, because they refer to plans.
    await client.query('DELETE FROM api_keys WHERE environment_id = $1', [environmentId]);
    await client.query('DELETE FROM plans WHERE environment_id = $1', [environmentId]);
  });
}

/**
 * Deletes all records of an environment: plans, keys, workloads with their history, applied configurations,
 * and pending work. Call it only
 * after the namespace is gone, because the controllers would record existing workloads again. Idempotent.
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
    await client.query('DELETE FROM applied_configurations WHERE environment_id = $1', [environmentId]);
  });
}
