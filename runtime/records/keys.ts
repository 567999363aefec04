import type { ClientBase } from 'pg';
import { z } from 'zod';
import type { Database } from '../db/pool.ts';
import { apiKeyDigest, generateApiKey } from '../domain/api-key.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { isDatabaseError, type PageRequest } from './plans.ts';

/** An API key, without its secret (docs/reference/gate.md#keys). */
export interface ApiKey {
  id: Id;
  environmentId: Id;
  handle: string;
  name: string | null;
  planId: Id;
  planName: string;
  /** Names of the existing apps for which the key is valid; null for every app of its environment. */
  apps: string[] | null;
  /** Ids of the workloads for which the key is valid, including deleted ones; null for every app. */
  scope: Id[] | null;
  /** Networks from which the key may be used, such as `192.0.2.0/24`; null for all. */
  allowedCidrs: string[] | null;
  enabled: boolean;
  expiresAt: Date | null;
  /** The handle of the key that replaced it in a rotation. */
  replacedBy: string | null;
  createdAt: Date;
  createdBy: string;
}

export interface NewKey {
  environmentId: Id;
  name: string | null;
  planId: Id;
  /** Workload ids; null for every app of the environment. */
  scope: readonly Id[] | null;
  /** Networks in the form that `parseNetwork` returns; null, the default, for every client. */
  allowedCidrs?: readonly string[] | null;
  expiresAt: Date | null;
  createdBy: string;
}

/** The fields that a change can set. */
export type KeyChanges = Partial<Omit<NewKey, 'environmentId' | 'createdBy'> & { enabled: boolean }>;

const columns = `api_keys.id, api_keys.environment_id AS "environmentId", handle, api_keys.name,
  plan_id AS "planId", plans.name AS "planName", scope, allowed_cidrs::text[] AS "allowedCidrs",
  CASE WHEN scope IS NOT NULL THEN ARRAY(
    SELECT workloads.name FROM workloads WHERE workloads.id = ANY(scope) AND deleted_at IS NULL ORDER BY 1) END AS apps,
  (SELECT successors.handle FROM api_keys successors WHERE successors.id = api_keys.replaced_by) AS "replacedBy",
  enabled, expires_at AS "expiresAt", api_keys.created_at AS "createdAt", created_by AS "createdBy"`;

const source = 'api_keys JOIN plans ON plans.id = plan_id';

/** Handles are random and unique in the installation. With a billion keys, one in 2,800 first attempts collides. */
const handleTries = 5;

function planGone(): Problem {
  return new Problem('invalid_value', 'The plan was deleted a moment ago; choose another one.', {
    details: { field: 'plan' },
  });
}

/**
 * Creates a key. Only its digest is stored: the returned value is the only copy of the full key.
 * @throws Problem `invalid_value` when the plan does not exist
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
        `INSERT INTO api_keys
           (id, environment_id, handle, digest, name, plan_id, scope, allowed_cidrs, expires_at, created_by)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (handle) DO NOTHING`,
        [
          id,
          record.environmentId,
          handle,
          apiKeyDigest(key),
          record.name,
          record.planId,
          record.scope,
          record.allowedCidrs,
          record.expiresAt,
          record.createdBy,
        ],
      );
      const created = rowCount === 1 ? await findKey(database, [record.environmentId], id) : undefined;
      if (created) return { key, record: created };
    } catch (error) {
      throw isDatabaseError(error, '23503') ? planGone() : error;
    }
    if (attempt === handleTries) throw new Error(`no free handle after ${handleTries} tries`);
  }
}

/** Finds a key by id or handle, within some environments. */
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

/**
 * Locks a key until the transaction ends, and reads it; undefined when it does not exist. These are two statements,
 * because a lock with a join would lose the row when the key's plan changes concurrently.
 */
export async function lockKey(client: ClientBase, id: Id): Promise<ApiKey | undefined> {
  const { rows } = await client.query<{ environmentId: Id }>(
    'SELECT environment_id AS "environmentId" FROM api_keys WHERE id = $1 FOR NO KEY UPDATE',
    [id],
  );
  return rows[0] && findKey(client, [rows[0].environmentId], id);
}

/**
 * Sets the fields of `changes`.
 * @returns false when nothing changed or the key does not exist
 * @throws Problem `invalid_value` when the plan does not exist
 */
export async function updateKey(database: Database, id: Id, changes: KeyChanges): Promise<boolean> {
  const fields = updatable.filter(([field]) => changes[field] !== undefined);
  if (fields.length === 0) return false;
  const names = fields.map(([, column]) => column);
  const values = fields.map((_, index) => `$${index + 2}`);
  try {
    const { rowCount } = await database.query(
      `UPDATE api_keys SET ${names.map((name, index) => `${name} = ${values[index]}`).join(', ')}
       WHERE id = $1 AND (${names.join(', ')}) IS DISTINCT FROM (${values.join(', ')})`,
      [id, ...fields.map(([field]) => changes[field])],
    );
    return rowCount === 1;
  } catch (error) {
    throw isDatabaseError(error, '23503') ? planGone() : error;
  }
}

/** Columns by field. Only these names are inserted into the statement. */
const updatable: readonly (readonly [keyof KeyChanges, string])[] = [
  ['enabled', 'enabled'],
  ['name', 'name'],
  ['planId', 'plan_id'],
  ['scope', 'scope'],
  ['allowedCidrs', 'allowed_cidrs'],
  ['expiresAt', 'expires_at'],
];

/** Records that a key was rotated: its successor, and its expiry, which is never later than before. */
export async function replaceKey(database: Database, id: Id, by: { successor: Id; endsAt: Date }): Promise<void> {
  await database.query('UPDATE api_keys SET replaced_by = $2, expires_at = least(expires_at, $3) WHERE id = $1', [
    id,
    by.successor,
    by.endsAt,
  ]);
}

/**
 * Revokes a key permanently.
 * @returns false when it does not exist
 */
export async function deleteKey(database: Database, id: Id): Promise<boolean> {
  const { rowCount } = await database.query('DELETE FROM api_keys WHERE id = $1', [id]);
  return rowCount === 1;
}
