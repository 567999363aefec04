import type { ClientBase } from 'pg';
import type { AppliedObjects } from '../contracts/api/applied-configurations.ts';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** What was last applied to an environment from the file of that name. */
export interface AppliedConfiguration {
  name: string;
  version: number;
  objects: AppliedObjects;
  appliedBy: string;
  appliedAt: Date;
}

const columns = 'name, version, objects, applied_by AS "appliedBy", applied_at AS "appliedAt"';

export async function findAppliedConfiguration(
  database: Database,
  environmentId: Id,
  name: string,
): Promise<AppliedConfiguration | undefined> {
  const { rows } = await database.query<AppliedConfiguration>(
    `SELECT ${columns} FROM applied_configurations WHERE environment_id = $1 AND name = $2`,
    [environmentId, name],
  );
  return rows[0];
}

/**
 * Stores a configuration over the version that the caller has read (0: none), and returns it with its new version.
 * @returns undefined when another version is stored
 */
export async function storeAppliedConfiguration(
  database: Database,
  environmentId: Id,
  { name, version, objects, appliedBy }: Omit<AppliedConfiguration, 'appliedAt'>,
): Promise<AppliedConfiguration | undefined> {
  const values = [environmentId, name, JSON.stringify(objects), appliedBy];
  const { rows } =
    version === 0
      ? await database.query<AppliedConfiguration>(
          `INSERT INTO applied_configurations (environment_id, name, objects, applied_by) VALUES ($1, $2, $3, $4)
           ON CONFLICT DO NOTHING RETURNING ${columns}`,
          values,
        )
      : await database.query<AppliedConfiguration>(
          `UPDATE applied_configurations SET version = version + 1, objects = $3, applied_by = $4, applied_at = now()
           WHERE environment_id = $1 AND name = $2 AND version = $5 RETURNING ${columns}`,
          [...values, version],
        );
  return rows[0];
}

/**
 * What the other configurations of a project take, which the caller's transaction keeps from growing until it ends.
 * @param environmentIds all environments of the project
 * @returns the number in the named environment, and the bytes in all of them
 */
export async function measureOtherConfigurations(
  client: ClientBase,
  environmentIds: readonly Id[],
  { environmentId, name }: { environmentId: Id; name: string },
): Promise<{ count: number; bytes: number }> {
  const lock = environmentIds.toSorted()[0] ?? environmentId;
  await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('applied configurations of ' || $1, 0))`, [lock]);
  const { rows } = await client.query<{ count: number; bytes: string }>(
    `SELECT count(*) FILTER (WHERE environment_id = $2)::int AS count, COALESCE(sum(octet_length(objects::text)), 0) AS bytes
     FROM applied_configurations
     WHERE environment_id = ANY ($1::uuid[]) AND NOT (environment_id = $2 AND name = $3)`,
    [environmentIds, environmentId, name],
  );
  const { count = 0, bytes = '0' } = rows[0] ?? {};
  return { count, bytes: Number(bytes) };
}

/** Forgets a configuration; the objects that it names stay. @returns whether there was one */
export async function deleteAppliedConfiguration(
  database: Database,
  environmentId: Id,
  name: string,
): Promise<boolean> {
  const { rowCount } = await database.query(
    'DELETE FROM applied_configurations WHERE environment_id = $1 AND name = $2',
    [environmentId, name],
  );
  return rowCount === 1;
}
