import type { ClientBase } from 'pg';
import type { Id } from '../domain/ids.ts';

/**
 * Holds an app's row until the caller's transaction ends: nobody accepts or ends a deployment of it meanwhile. Whoever
 * takes more rows takes this one first. @returns false when there is no such app, or it was deleted
 */
export async function holdApp(client: ClientBase, workloadId: Id): Promise<boolean> {
  const { rowCount } = await client.query(
    `SELECT 1 FROM workloads WHERE id = $1 AND deleted_at IS NULL FOR NO KEY UPDATE`,
    [workloadId],
  );
  return rowCount === 1;
}
