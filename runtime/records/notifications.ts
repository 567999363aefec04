import type { Pool } from 'pg';
import type { Id } from '../domain/ids.ts';

/** Deletes the notification targets and pending notifications of a deleted project. Idempotent. */
export async function deleteProjectNotifications(pool: Pool, projectId: Id): Promise<void> {
  await pool.query('DELETE FROM notification_targets WHERE project_id = $1', [projectId]);
}
