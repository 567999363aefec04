import type { Database } from '../db/pool.ts';
import type { DeploymentState } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';

/** How a deployment that was accepted came to its end. */
export interface DeploymentEnd {
  state: 'succeeded' | 'failed' | 'superseded' | 'cancelled';
  /** What a person needs to know; absent for a success, which keeps what the record says of why it was made. */
  reason?: string;
  /** Of the image that its pods run, where it was not known. */
  digest?: string;
}

/**
 * Writes the end of a deployment if it is in one of the states `from` (default: any active one), by `end_deployments`
 * (migration 0021): the only place where deployments end, which sees to notifications, too. Whoever writes more in the same
 * transaction and takes the app's row for it (`acceptDeployment` does) takes that first.
 * @returns whether it ended now
 */
export async function recordEnd(
  database: Database,
  id: Id,
  { state, reason, digest }: DeploymentEnd,
  from?: readonly DeploymentState[],
): Promise<boolean> {
  const { rowCount } = await database.query({
    // Planning it takes longer than running it.
    name: 'record-end',
    text: 'SELECT end_deployments(ARRAY[$1::uuid], $2, $3, $4, $5)',
    values: [id, from ?? null, state, reason ?? null, digest ?? null],
  });
  return rowCount === 1;
}

/**
 * Ends every active deployment of an app, and the work on it. The caller's transaction holds the app's row.
 * @returns the ids of those that it ended
 */
export async function endActiveDeployments(
  database: Database,
  workloadId: Id,
  state: 'superseded' | 'cancelled',
  reason: string,
): Promise<Id[]> {
  const { rows } = await database.query<{ id: Id }>('SELECT id FROM end_active_deployments($1, $2, $3) AS id', [
    ...[workloadId, state, reason],
  ]);
  return rows.map(({ id }) => id);
}
