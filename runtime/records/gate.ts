import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** One process life of a checker, as it reported last. */
export interface GateReplica {
  incarnation: Id;
  /** The pod's name. */
  name: string;
  /** The version of the feed that its view holds; null while it loads, or when it follows another feed. */
  applied: number | null;
  /** When it reached that version. */
  appliedAt: Date | null;
  startedAt: Date;
  seenAt: Date;
  /** Since it was last seen, in ms by the database's clock. */
  silentMs: number;
}

/**
 * The newest version of the gate's change feed. In the transaction of a change, after it: the version of that change,
 * since the head stays locked until the commit.
 */
export async function readFeedVersion(database: Database): Promise<number> {
  const { rows } = await database.query<{ version: number }>('SELECT version::float8 AS version FROM feed_head');
  const row = rows[0];
  if (!row) throw new Error('feed_head is empty');
  return row.version;
}

/** When the change of this version was made; undefined when it is not (or no longer) in the feed. */
export async function findChange(database: Database, version: number): Promise<Date | undefined> {
  const { rows } = await database.query<{ at: Date }>('SELECT at FROM changes WHERE version = $1', [version]);
  return rows[0]?.at;
}

/** The replicas that have not ended in good order and were seen within `withinMs`, by name, older lives first. */
export async function listGateReplicas(database: Database, withinMs: number): Promise<GateReplica[]> {
  const { rows } = await database.query<GateReplica>(
    `SELECT incarnation, name, started_at AS "startedAt", seen_at AS "seenAt",
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
