import type { Pool } from 'pg';
import { transaction } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/**
 * Removes the plans and keys of an environment that is gone; its keys then open nothing. History stays with its
 * workloads. Repeating it is free.
 */
export async function deleteEnvironmentRecords(pool: Pool, environmentId: Id): Promise<void> {
  await transaction(pool, async (client) => {
    // Keys first: they refer to plans.
    await client.query('DELETE FROM api_keys WHERE environment_id = $1', [environmentId]);
    await client.query('DELETE FROM plans WHERE environment_id = $1', [environmentId]);
  });
}
