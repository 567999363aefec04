import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** The incarnation that holds the folded usage of ended process lives. */
export const foldedIncarnation: Id = '00000000-0000-0000-0000-000000000000';

/**
 * Records a process life of a checker, unless it is recorded.
 * @param name the pod's name
 */
export async function registerReplica(database: Database, incarnation: Id, name: string): Promise<void> {
  await database.query('INSERT INTO gate_replicas (incarnation, name) VALUES ($1, $2) ON CONFLICT DO NOTHING', [
    incarnation,
    name,
  ]);
}

/**
 * Records that a replica is alive, that its view contains the feed up to `version`, and whether it shares rate limits
 * with the other replicas.
 */
export async function reportReplica(
  database: Database,
  incarnation: Id,
  { feedId, version, sharesRates }: { feedId: Id; version: number; sharesRates: boolean },
): Promise<void> {
  await database.query(
    `UPDATE gate_replicas SET seen_at = now(), feed_id = $2, applied_version = $3, shares_rates = $4,
       applied_at = CASE WHEN (feed_id, applied_version) IS NOT DISTINCT FROM ($2, $3) THEN applied_at ELSE now() END
     WHERE incarnation = $1 AND closed_at IS NULL`,
    [incarnation, feedId, version, sharesRates],
  );
}

/**
 * Ends a process life, which then cannot write usage any more.
 * @returns the number of the last batch of usage that it wrote; 0 for none, or without a record
 */
export async function closeReplica(database: Database, incarnation: Id): Promise<number> {
  const { rows } = await database.query<{ flushes: string }>(
    `UPDATE gate_replicas SET closed_at = coalesce(closed_at, now()) WHERE incarnation = $1 RETURNING flushes`,
    [incarnation],
  );
  return Number(rows[0]?.flushes ?? 0);
}
