import type { Pool } from 'pg';
import { newId } from '../../runtime/domain/ids.ts';
import { imageCleanupId } from '../../runtime/queues/catalogue.ts';

/** Inserts the work row of the clean-up of images if it is missing. */
export async function ensureImageCleanup(pool: Pool): Promise<void> {
  await pool.query(
    `INSERT INTO work (id, kind, record_id) VALUES ($1, 'images', $2)
     ON CONFLICT (kind, record_id) DO UPDATE SET state = 'pending', done_at = NULL WHERE work.state = 'done'`,
    [newId(), imageCleanupId],
  );
}
