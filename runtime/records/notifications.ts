import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';

/** Forgets where a project that is gone wanted to be told, and what waits to be sent there. Repeating it is free. */
export async function deleteProjectNotifications(pool: Pool, projectId: Id): Promise<void> {
  await pool.query('DELETE FROM notification_targets WHERE project_id = $1', [projectId]);
}
