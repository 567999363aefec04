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

/** The number of an environment's configurations. */
export async function countAppliedConfigurations(database: Database, environmentId: Id): Promise<number> {
  const { rows } = await database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM applied_configurations WHERE environment_id = $1',
    [environmentId],
  );
  return rows[0]?.count ?? 0;
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
