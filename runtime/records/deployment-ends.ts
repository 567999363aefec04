import type { ClientBase } from 'pg';
import type { Id } from '../domain/ids.ts';
import { finishWork } from './work.ts';

/**
 * Ends every active deployment of an app, and the work on it. The caller's transaction holds the app's row.
 * @returns the ids of those that it ended
 */
export async function endActiveDeployments(
  client: ClientBase,
  workloadId: Id,
  state: 'superseded' | 'cancelled',
  reason: string,
): Promise<Id[]> {
  const { rows } = await client.query<{ id: Id }>(
    `UPDATE deployments SET state = $2, reason = $3, ended_at = clock_timestamp()
     WHERE workload_id = $1 AND ended_at IS NULL RETURNING id`,
    [workloadId, state, reason],
  );
  const ids = rows.map(({ id }) => id);
  await finishWork(client, 'rollouts', ids);
  return ids;
}
