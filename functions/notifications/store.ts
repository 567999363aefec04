import type { Pool } from 'pg';
import { z } from 'zod';
import { transaction } from '../../runtime/db/pool.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { isDatabaseError } from '../../runtime/records/plans.ts';

/** A notification target of a project. */
export interface Target {
  id: Id;
  name: string;
  url: string;
  events: string[];
  /** Null: all. */
  apps: string[] | null;
  environments: string[] | null;
  enabled: boolean;
  disabledReason: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const columns = `id, name, url, events, apps, environments, enabled, disabled_reason AS "disabledReason",
  created_at AS "createdAt", updated_at AS "updatedAt"`;

/** Limited because every deployment that ends writes a row for each target. */
const targetsMax = 20;

export type NewTarget = Pick<Target, 'id' | 'name' | 'url' | 'events' | 'apps' | 'environments'> & {
  projectId: Id;
  project: string;
  /** Sealed. */
  secret: string;
};

/** Creates a target. @throws Problem `already_exists` for a name in use, `conflict` beyond {@link targetsMax} in a project */
export async function insertTarget(pool: Pool, target: NewTarget): Promise<Target> {
  const { id, projectId, project, name, url, secret, events, apps, environments } = target;
  try {
    return await transaction(pool, async (client) => {
      await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`notifications ${projectId}`]);
      const { rows } = await client.query<Target & { total: number }>(
        `INSERT INTO notification_targets (id, project_id, project, name, url, secret, events, apps, environments)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         RETURNING ${columns}, (SELECT count(*)::integer FROM notification_targets WHERE project_id = $2) AS total`,
        [id, projectId, project, name, url, secret, events, apps, environments],
      );
      const [row] = rows;
      if (!row) throw new Error('nothing was inserted');
      if (row.total < targetsMax) return row;
      throw new Problem('conflict', `The project has the maximum of ${targetsMax} notifications. Delete one first.`);
    });
  } catch (error) {
    throw isDatabaseError(error, '23505') ? nameTaken(name) : error;
  }
}

function nameTaken(name: string): Problem {
  return new Problem('already_exists', `The project already has a notification "${name}". Choose another name.`);
}

/** The targets of a project by name: up to `limit` after the name `after`. */
export async function listTargets(
  pool: Pool,
  projectId: Id,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<Target[]> {
  const { rows } = await pool.query<Target>(
    `SELECT ${columns} FROM notification_targets WHERE project_id = $1 AND ($2::text IS NULL OR name > $2)
     ORDER BY name LIMIT $3`,
    [projectId, after ?? null, limit],
  );
  return rows;
}

/** A target by its name or id. */
export async function findTarget(pool: Pool, projectId: Id, reference: string): Promise<Target | undefined> {
  const byId = z.uuid().safeParse(reference).success;
  const { rows } = await pool.query<Target>(
    `SELECT ${columns} FROM notification_targets WHERE project_id = $1 AND ${byId ? 'id' : 'name'} = $2`,
    [projectId, reference],
  );
  return rows[0];
}

export type TargetChanges = Partial<Pick<Target, 'name' | 'url' | 'events' | 'apps' | 'environments' | 'enabled'>>;

/** Changes a target; undefined for a deleted one. @throws Problem `already_exists` for a name in use */
export async function updateTarget(pool: Pool, before: Target, changes: TargetChanges): Promise<Target | undefined> {
  const { id, name, url, events, apps, environments, enabled } = { ...before, ...changes };
  try {
    const { rows } = await pool.query<Target>(
      `UPDATE notification_targets SET name = $2, url = $3, events = $4, apps = $5, environments = $6, enabled = $7,
         disabled_reason = CASE WHEN $7 THEN NULL ELSE disabled_reason END, updated_at = now()
       WHERE id = $1 RETURNING ${columns}`,
      [id, name, url, events, apps, environments, enabled],
    );
    return rows[0];
  } catch (error) {
    throw isDatabaseError(error, '23505') ? nameTaken(name) : error;
  }
}

/** Replaces the sealed secret, which also signs pending deliveries. */
export async function updateSecret(pool: Pool, id: Id, secret: string): Promise<Target | undefined> {
  const { rows } = await pool.query<Target>(
    `UPDATE notification_targets SET secret = $2, updated_at = now() WHERE id = $1 RETURNING ${columns}`,
    [id, secret],
  );
  return rows[0];
}

/** Deletes a target and its pending deliveries. */
export async function deleteTarget(pool: Pool, id: Id): Promise<void> {
  await pool.query('DELETE FROM notification_targets WHERE id = $1', [id]);
}
