import type { Database } from '../db/pool.ts';
import type { DeploymentState } from '../domain/deployment.ts';
import type { Id } from '../domain/ids.ts';
import { withoutNul } from '../domain/text-tail.ts';

/** The end of an accepted deployment. */
export interface DeploymentEnd {
  state: 'succeeded' | 'failed' | 'superseded' | 'cancelled';
  /** Why, for people, with what a program printed; absent for a success, which keeps the reason that the deployment was created for. */
  reason?: string;
  /** The digest of the image that its pods run, if it was not known before. */
  digest?: string;
}

/**
 * Ends a deployment if it is in one of the states `from` (default: any active state). The SQL function `end_deployments`,
 * which also writes the notifications, is the only place where deployments end. A caller that also locks the app's row in
 * the same transaction, as `acceptDeployment` does, locks that first.
 * @returns whether this call ended it
 */
export async function endIfActive(
  database: Database,
  id: Id,
  { state, reason, digest }: DeploymentEnd,
  from?: readonly DeploymentState[],
): Promise<boolean> {
  const { rows } = await database.query<{ ended: Id[] }>({
    // Prepared, because planning it takes longer than running it.
    name: 'end-deployment',
    text: 'SELECT end_deployments(ARRAY[$1::uuid], $2, $3, $4, $5) AS ended',
    values: [id, from ?? null, state, reason === undefined ? null : withoutNul(reason), digest ?? null],
  });
  return rows[0]?.ended.length === 1;
}

/**
 * Ends the active deployments of an app, and the work on them. The caller's transaction holds the app's row.
 * @returns the ids of the deployments that it ended
 */
export async function endActiveDeployments(
  database: Database,
  workloadId: Id,
  state: 'superseded' | 'cancelled',
  reason: string,
): Promise<Id[]> {
  const { rows } = await database.query<{ ended: Id[] }>('SELECT end_active_deployments($1, $2, $3) AS ended', [
    workloadId,
    state,
    reason,
  ]);
  return rows[0]?.ended ?? [];
}
