import type { ClientBase } from 'pg';
import type { Id } from '../domain/ids.ts';

/**
 * Locks an app's row until the caller's transaction ends, so that no other transaction accepts or ends a deployment of
 * the app. A caller that locks further rows locks this one first.
 * @returns false when the app does not exist or was deleted
 */
export async function lockAppRow(client: ClientBase, workloadId: Id): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM workloads WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [workloadId],
  );
  return rowCount === 1;
}
