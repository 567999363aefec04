import { z } from 'zod';
import type { Database } from '../db/pool.ts';
import { apiKeyDigest, generateApiKey } from '../domain/api-key.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { isDatabaseError, type PageRequest } from './plans.ts';

/** An API key as everyone but its holder sees it (spec.md §2.2). */
export interface ApiKey {
  id: Id;
  environmentId: Id;
  handle: string;
  name: string | null;
  planId: Id;
  planName: string;
  /** Names of the living apps that the key opens; null for every app of its environment. */
  apps: string[] | null;
  enabled: boolean;
  expiresAt: Date | null;
  createdAt: Date;
  createdBy: string;
}

export interface NewKey {
  environmentId: Id;
  name: string | null;
  planId: Id;
  /** Workload ids; null for every app of the environment. */
  scope: readonly Id[] | null;
  expiresAt: Date | null;
  createdBy: string;
}

const columns = `api_keys.id, api_keys.environment_id AS "environmentId", handle, api_keys.name,
  plan_id AS "planId", plans.name AS "planName",
  CASE WHEN scope IS NOT NULL THEN ARRAY(
    SELECT workloads.name FROM workloads WHERE workloads.id = ANY(scope) AND deleted_at IS NULL ORDER BY 1) END AS apps,
  enabled, expires_at AS "expiresAt", api_keys.created_at AS "createdAt", created_by AS "createdBy"`;

const source = 'api_keys JOIN plans ON plans.id = plan_id';

/** Handles are random and unique in the whole installation: with a billion keys one in 2,800 first tries collides. */
const handleTries = 5;

/**
 * Creates a key. Only its digest is stored: the full key in the answer exists nowhere else.
 * @throws Problem `invalid_value` when the plan is gone
 */
export async function insertKey(
  database: Database,
  record: NewKey,
  generate = generateApiKey,
): Promise<{ key: string; record: ApiKey }> {
  for (let attempt = 1; ; attempt++) {
    const { key, handle } = generate();
    const id = newId();
    try {
      const { rowCount } = await database.query(
        `INSERT INTO api_keys (id, environment_id, handle, digest, name, plan_id, scope, expires_at, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (handle) DO NOTHING`,
        [
          ...[id, record.environmentId, handle, apiKeyDigest(key), record.name, record.planId, record.scope],
          ...[record.expiresAt, record.createdBy],
        ],
      );
      const created = rowCount === 1 ? await findKey(database, [record.environmentId], id) : undefined;
      if (created) return { key, record: created };
    } catch (error) {
      if (!isDatabaseError(error, '23503')) throw error;
      throw new Problem('invalid_value', 'The plan was deleted a moment ago; choose another one.', {
        details: { field: 'plan' },
      });
    }
    if (attempt === handleTries) throw new Error(`no free handle after ${handleTries} tries`);
  }
}

/** A key by its id or handle, within some environments. */
export async function findKey(
  database: Database,
  environmentIds: readonly Id[],
  idOrHandle: string,
): Promise<ApiKey | undefined> {
  const column = z.uuid().safeParse(idOrHandle).success ? 'api_keys.id' : 'handle';
  const { rows } = await database.query<ApiKey>(
    `SELECT ${columns} FROM ${source} WHERE api_keys.environment_id = ANY($1) AND ${column} = $2`,
    [environmentIds, idOrHandle],
  );
  return rows[0];
}

export async function listKeys(
  database: Database,
  environmentId: Id,
  { limit, before }: PageRequest,
): Promise<ApiKey[]> {
  const { rows } = await database.query<ApiKey>(
    `SELECT ${columns} FROM ${source} WHERE api_keys.environment_id = $1 AND ($2::uuid IS NULL OR api_keys.id < $2)
     ORDER BY api_keys.id DESC LIMIT $3`,
    [environmentId, before ?? null, limit],
  );
  return rows;
}

/** Enables or disables a key; false when it was so already, or is gone. */
export async function setKeyEnabled(database: Database, id: Id, enabled: boolean): Promise<boolean> {
  const { rowCount } = await database.query('UPDATE api_keys SET enabled = $2 WHERE id = $1 AND enabled <> $2', [
    id,
    enabled,
  ]);
  return rowCount === 1;
}

/** Revokes a key for good; false when it is gone already. */
export async function deleteKey(database: Database, id: Id): Promise<boolean> {
  const { rowCount } = await database.query('DELETE FROM api_keys WHERE id = $1', [id]);
  return rowCount === 1;
}
