import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import type { Quota } from '../contracts/api/plans.ts';
import { newId, type Id } from '../domain/ids.ts';
import { Problem } from '../domain/problem.ts';
import { readFeedVersion } from './gate.ts';

/** A plan (docs/reference/gate.md#plans). */
export interface Plan {
  id: Id;
  environmentId: Id;
  name: string;
  requestsPerSecond: number;
  burst: number;
  /** Allowed requests of one key per calendar period in UTC; null without a quota. */
  quota: Quota | null;
  /** The number of keys that are on it. */
  keys: number;
  createdAt: Date;
}

/** The fields that a change can set. */
export type PlanChanges = Partial<Pick<Plan, 'name' | 'requestsPerSecond' | 'burst' | 'quota'>>;

/**
 * A page of a list, newest first (ids are ordered by time, to the millisecond): up to `limit`, older than the id
 * `before`.
 */
export interface PageRequest {
  limit: number;
  before?: Id | undefined;
}

const columns = `id, environment_id AS "environmentId", name, requests_per_second AS "requestsPerSecond", burst,
  CASE WHEN quota_limit IS NOT NULL THEN jsonb_build_object('limit', quota_limit, 'period', quota_period) END AS quota,
  (SELECT count(*)::integer FROM api_keys WHERE plan_id = plans.id) AS keys, created_at AS "createdAt"`;

/** Maximum number of keys that an error names. */
const namedKeysMax = 10;

/** Whether PostgreSQL returned this SQLSTATE. https://www.postgresql.org/docs/15/errcodes-appendix.html */
export function isDatabaseError(error: unknown, state: string): boolean {
  return error instanceof Error && (error as { code?: unknown }).code === state;
}

function nameTaken(name: string | undefined): Problem {
  return new Problem('already_exists', `There is a plan "${name}" in this environment already.`, { details: { name } });
}

/**
 * Creates a plan.
 * @throws Problem `already_exists` when the environment has a plan of this name
 */
export async function insertPlan(
  database: Database,
  plan: Pick<Plan, 'environmentId' | 'name' | 'requestsPerSecond' | 'burst'> & Partial<Pick<Plan, 'quota'>>,
): Promise<Plan> {
  const { rows } = await database.query<Plan>(
    `INSERT INTO plans (id, environment_id, name, requests_per_second, burst, quota_limit, quota_period)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (environment_id, name) DO NOTHING RETURNING ${columns}`,
    [newId(), plan.environmentId, plan.name, plan.requestsPerSecond, plan.burst, plan.quota?.limit, plan.quota?.period],
  );
  if (rows[0]) return rows[0];
  throw nameTaken(plan.name);
}

/**
 * Changes a plan, and so the limits of all keys on it. `version` is that of the change in the feed, absent when nothing
 * changed.
 * @param check gets the plan before the change, and can refuse it @returns undefined when the plan does not exist
 * @throws Problem `already_exists` when another plan has the name
 */
export async function updatePlan(
  pool: Pool,
  id: Id,
  changes: PlanChanges,
  check: (before: Plan) => void = () => undefined,
): Promise<{ before: Plan; after: Plan; version?: number } | undefined> {
  return transaction(pool, async (client) => {
    const locked = await client.query('SELECT FROM plans WHERE id = $1 FOR NO KEY UPDATE', [id]);
    const { rows } = await client.query<Plan>(`SELECT ${columns} FROM plans WHERE id = $1`, [id]);
    const before = rows[0];
    if (locked.rowCount === 0 || !before) return undefined;
    check(before);
    const { name, requestsPerSecond, burst, quota } = { ...before, ...changes };
    try {
      const updated = await client.query<Plan>(
        `UPDATE plans SET name = $2, requests_per_second = $3, burst = $4, quota_limit = $5, quota_period = $6
         WHERE id = $1 AND (name, requests_per_second, burst, quota_limit, quota_period)
           IS DISTINCT FROM ($2, $3, $4, $5, $6)
         RETURNING ${columns}`,
        [id, name, requestsPerSecond, burst, quota?.limit, quota?.period],
      );
      const after = updated.rows[0];
      return after ? { before, after, version: await readFeedVersion(client) } : { before, after: before };
    } catch (error) {
      throw isDatabaseError(error, '23505') ? nameTaken(name) : error;
    }
  });
}

/** Finds a plan by id, within some environments. */
export async function findPlan(database: Database, environmentIds: readonly Id[], id: Id): Promise<Plan | undefined> {
  const { rows } = await database.query<Plan>(
    `SELECT ${columns} FROM plans WHERE environment_id = ANY($1) AND id = $2`,
    [environmentIds, id],
  );
  return rows[0];
}

/** Finds a plan by its name, which is unique within one environment. */
export async function findPlanByName(database: Database, environmentId: Id, name: string): Promise<Plan | undefined> {
  const { rows } = await database.query<Plan>(`SELECT ${columns} FROM plans WHERE environment_id = $1 AND name = $2`, [
    environmentId,
    name,
  ]);
  return rows[0];
}

export async function listPlans(
  database: Database,
  environmentId: Id,
  { limit, before }: PageRequest,
): Promise<Plan[]> {
  const { rows } = await database.query<Plan>(
    `SELECT ${columns} FROM plans WHERE environment_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
    [environmentId, before ?? null, limit],
  );
  return rows;
}

/**
 * Deletes a plan.
 * @returns the version of the change in the feed; undefined when the plan does not exist
 * @throws Problem `in_use` that names the keys on it
 */
export async function deletePlan(pool: Pool, id: Id): Promise<number | undefined> {
  try {
    return await transaction(pool, async (client) => {
      const { rowCount } = await client.query('DELETE FROM plans WHERE id = $1', [id]);
      return rowCount === 1 ? await readFeedVersion(client) : undefined;
    });
  } catch (error) {
    if (!isDatabaseError(error, '23503')) throw error;
    throw await planInUse(pool, id);
  }
}

async function planInUse(database: Pool, id: Id): Promise<Problem> {
  const { rows } = await database.query<{ handle: string; name: string | null; total: number }>(
    `SELECT handle, name, count(*) OVER ()::integer AS total FROM api_keys WHERE plan_id = $1
     ORDER BY created_at, id LIMIT $2`,
    [id, namedKeysMax],
  );
  const total = rows[0]?.total ?? 0;
  if (total === 0) return new Problem('in_use', 'The plan was in use until a moment ago; try again.');
  const keyNames = rows.map(({ handle, name }) => (name === null ? handle : `${handle} (${name})`));
  const rest = total > rows.length ? ` and ${total - rows.length} more` : '';
  return new Problem(
    'in_use',
    `The plan is used by the API keys ${keyNames.join(', ')}${rest}; revoke them first, then delete the plan.`,
    { details: { keys: rows.map(({ handle }) => handle), total } },
  );
}
