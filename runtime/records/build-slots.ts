import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { wakeDispatcher } from './work.ts';

/** A build occupies a slot from its start until its image is built or its deployment ends. */
const isUnfinished = `d.revision IS NOT NULL AND d.image = '' AND d.ended_at IS NULL`;

/**
 * Gives an accepted deployment one of the slots for concurrent builds, the longest waiting first. A deployment that has
 * a slot keeps it, so that the step can be repeated. A deployment without one gets a reason that says so.
 * @returns `ended` when the deployment is no longer accepted
 */
export async function acquireBuildSlot(pool: Pool, id: Id, atOnce: number): Promise<'acquired' | 'full' | 'ended'> {
  return transaction(pool, async (client) => {
    // Counts are correct only one at a time.
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('build slots', 0))`);
    const { rows } = await client.query<{ free: boolean }>(
      `WITH slot AS (
         SELECT this.started_at IS NOT NULL OR $2 > (SELECT count(*) FROM deployments d WHERE ${isUnfinished}
           AND d.id <> this.id
           AND (d.started_at IS NOT NULL OR (d.accepted_at, d.id) < (this.accepted_at, this.id))) AS free
         FROM deployments this WHERE this.id = $1)
       UPDATE deployments SET
         started_at = CASE WHEN free THEN COALESCE(started_at, clock_timestamp()) END,
         reason = CASE WHEN NOT free THEN $3 END
       FROM slot WHERE id = $1 AND state = 'accepted' RETURNING free`,
      [id, atOnce, waitingReason(atOnce)],
    );
    const [row] = rows;
    return row === undefined ? 'ended' : row.free ? 'acquired' : 'full';
  });
}

function waitingReason(atOnce: number): string {
  return atOnce === 1
    ? 'Waiting for another build to finish: only one build runs at a time.'
    : `Waiting for another build to finish: at most ${atOnce} builds run at a time.`;
}

/** Makes every waiting build check for a free slot. */
export async function wakeWaitingBuilds(database: Database): Promise<void> {
  const { rowCount } = await database.query(
    `UPDATE work SET due_at = LEAST(due_at, now()) FROM deployments d
     WHERE work.kind = 'builds' AND work.record_id = d.id AND work.state = 'pending'
       AND ${isUnfinished} AND d.state = 'accepted' AND d.started_at IS NULL`,
  );
  if (rowCount) await wakeDispatcher(database);
}
