import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** One process life of a checker, as last reported. */
export interface GateReplica {
  incarnation: Id;
  /** The pod's name. */
  name: string;
  /** The feed version that its view contains; null while it loads, or after the feed was replaced. */
  applied: number | null;
  /** When it reached that version. */
  appliedAt: Date | null;
  startedAt: Date;
  seenAt: Date;
  /** Whether it shares rate limits with the other replicas, or is the only one; null before its first report. */
  sharesRates: boolean | null;
  /** Milliseconds since its last report, by the database's clock. */
  silentMs: number;
}

/**
 * The newest version of the gate's feed. After a change in the same transaction, this is the version of the change,
 * because the head stays locked until the commit.
 */
export async function readFeedVersion(database: Database): Promise<number> {
  const { rows } = await database.query<{ version: number }>('SELECT version::float8 AS version FROM feed_head');
  const row = rows[0];
  if (!row) throw new Error('feed_head is empty');
  return row.version;
}

/** When the change with this version was made; undefined when the feed does not contain it (any more). */
export async function findChange(database: Database, version: number): Promise<Date | undefined> {
  const { rows } = await database.query<{ at: Date }>('SELECT at FROM changes WHERE version = $1', [version]);
  return rows[0]?.at;
}

/** The replicas that were not stopped and reported within `withinMs`, by name, older process lives first. */
export async function listGateReplicas(database: Database, withinMs: number): Promise<GateReplica[]> {
  const { rows } = await database.query<GateReplica>(
    `SELECT incarnation, name, started_at AS "startedAt", seen_at AS "seenAt", shares_rates AS "sharesRates",
       CASE WHEN gate_replicas.feed_id = feed_head.feed_id THEN applied_version::float8 END AS applied,
       CASE WHEN gate_replicas.feed_id = feed_head.feed_id THEN applied_at END AS "appliedAt",
       greatest(0, extract(epoch FROM now() - seen_at) * 1000)::float8 AS "silentMs"
     FROM gate_replicas CROSS JOIN feed_head
     WHERE closed_at IS NULL AND seen_at > now() - $1 * interval '1 millisecond'
     ORDER BY name, started_at`,
    [withinMs],
  );
  return rows;
}
