import type { Pool } from 'pg';
import { inSlices } from '../db/slices.ts';
import type { Id } from '../domain/ids.ts';

/** Rows that one statement deletes. */
const sliceRows = 5_000;
/** Keys that one statement deletes. Each has a row of usage for every day and process life of a checker. */
const sliceKeys = 100;

/** Deletes the plans, keys and access tokens of an environment; its gated workloads then accept no key. Idempotent. */
export async function closeEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await pool.query('DELETE FROM access_tokens WHERE environment_id = $1', [environmentId]);
  // Many keys are deleted slowly, with their usage, but all of them are refused at once.
  await inSlices(
    pool,
    `UPDATE api_keys SET enabled = false WHERE id IN (
       SELECT id FROM api_keys WHERE environment_id = $1 AND enabled LIMIT $2)`,
    [environmentId],
    sliceRows,
  );
  // Keys first, because they refer to plans.
  await inSlices(
    pool,
    `DELETE FROM api_keys WHERE id IN (SELECT id FROM api_keys WHERE environment_id = $1 LIMIT $2)`,
    [environmentId],
    sliceKeys,
  );
  await pool.query('DELETE FROM plans WHERE environment_id = $1', [environmentId]);
}

/**
 * Deletes all records of an environment: plans, keys, workloads with their history, applied configurations,
 * and pending work. Call it only
 * after the namespace is gone, because the controllers would record existing workloads again. Idempotent.
 */
export async function deleteEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await closeEnvironmentRecords(pool, environmentId);
  await pool.query(
    `DELETE FROM work WHERE record_id IN
       (SELECT deployments.id FROM deployments JOIN workloads ON workloads.id = deployments.workload_id
        WHERE workloads.environment_id = $1)`,
    [environmentId],
  );
  const { rows } = await pool.query<{ id: Id }>('SELECT id FROM workloads WHERE environment_id = $1', [environmentId]);
  for (const { id } of rows) {
    // Deliveries first, because they refer to deployments.
    for (const table of ['webhook_deliveries', 'deployments']) {
      await inSlices(
        pool,
        `DELETE FROM ${table} WHERE id IN (SELECT id FROM ${table} WHERE workload_id = $1 LIMIT $2)`,
        [id],
        sliceRows,
      );
    }
  }
  await pool.query('DELETE FROM workloads WHERE environment_id = $1', [environmentId]);
  await pool.query('DELETE FROM applied_configurations WHERE environment_id = $1', [environmentId]);
}
