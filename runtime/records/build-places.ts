import type { Pool } from 'pg';
import { transaction, type Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { wakeDispatcher } from './work.ts';

/** A build occupies a slot from its start until its image is built or its deployment ends. */
const isBuilt = `d.revision IS NOT NULL AND d.image = '' AND d.ended_at IS NULL`;

/**
 * Gives an accepted deployment one of the slots for concurrent builds, the longest waiting first. A deployment that has
 * a slot keeps it, so that the step can be repeated. Others get a reason that says what they wait for.
 * @returns `ended` when the deployment is no longer accepted
 */
export async function acquireBuildSlot(pool: Pool, id: Id, atOnce: number): Promise<'taken' | 'waits' | 'ended'> {
  return transaction(pool, async (client) => {
    // Serializes counting.
    await client.query(`SELECT pg_advisory_xact_lock(hashtextextended('build places', 0))`);
    const { rows } = await client.query<{ taken: boolean }>(
      `WITH judged AS (
         SELECT this.started_at IS NOT NULL OR $2 > (SELECT count(*) FROM deployments d WHERE ${isBuilt}
           AND d.id <> this.id
           AND (d.started_at IS NOT NULL OR (d.accepted_at, d.id) < (this.accepted_at, this.id))) AS taken
         FROM deployments this WHERE this.id = $1)
       UPDATE deployments SET
         started_at = CASE WHEN taken THEN COALESCE(started_at, clock_timestamp()) END,
         reason = CASE WHEN NOT taken THEN $3 END
       FROM judged WHERE id = $1 AND state = 'accepted' RETURNING taken`,
      [id, atOnce, waitingReason(atOnce)],
    );
    const [row] = rows;
    return row === undefined ? 'ended' : row.taken ? 'taken' : 'waits';
  });
}

function waitingReason(atOnce: number): string {
  return atOnce === 1
    ? 'Waits for another build to end: one goes on at a time.'
    : `Waits for another build to end: ${atOnce} go on at once.`;
}

/** Makes every waiting build check for a free slot. */
export async function wakeWaitingBuilds(database: Database): Promise<void> {
  const { rowCount } = await database.query(
    `UPDATE work SET due_at = LEAST(due_at, now()) FROM deployments d
     WHERE work.kind = 'builds' AND work.record_id = d.id AND work.state = 'pending'
       AND ${isBuilt} AND d.state = 'accepted' AND d.started_at IS NULL`,
  );
  if (rowCount) await wakeDispatcher(database);
}
