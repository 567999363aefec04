import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** The load of a function by its data source. */
export interface EventLoad {
  /** Events that are being delivered or due within seconds; at most `undoneMax`. */
  backlog: number;
  /** Why the source could not be read, or events could not be marked as done; null without a problem. */
  problem: string | null;
}

/**
 * A running pod keeps waiting for an event's next attempt if that is due within this time; for later ones none is kept.
 */
const soonSeconds = 5;

/** The load of every function with a data source, by function id. */
export async function listEventLoads(database: Database): Promise<ReadonlyMap<Id, EventLoad>> {
  const { rows } = await database.query<EventLoad & { workloadId: Id }>({
    name: 'list-event-loads',
    text: `SELECT s.workload_id AS "workloadId", s.error AS problem,
        (SELECT count(*)::integer FROM function_events e WHERE e.workload_id = s.workload_id AND e.state = 'pending'
          AND (e.leased OR e.due_at <= now() + $1 * interval '1 second')) AS backlog
      FROM event_sources s`,
    values: [soonSeconds],
  });
  return new Map(rows.map(({ workloadId, ...load }) => [workloadId, load]));
}

/** The number of a function's events, for its metrics. */
export interface EventTotals {
  namespace: string;
  name: string;
  /** Neither delivered nor dead. */
  backlog: number;
  /** Delivered and not yet marked as done in the source. */
  unmarked: number;
  dead: number;
  /** The age of the oldest event in the backlog. */
  oldestSeconds: number;
}

/** The totals of every function with a data source. */
export async function listEventTotals(database: Database): Promise<EventTotals[]> {
  const { rows } = await database.query<EventTotals>(
    `SELECT w.namespace, w.name, pending.backlog, unmarked.unmarked, dead.dead, pending.seconds AS "oldestSeconds"
     FROM event_sources s JOIN workloads w ON w.id = s.workload_id AND w.deleted_at IS NULL
       CROSS JOIN LATERAL (SELECT count(*)::integer AS backlog,
           COALESCE(extract(epoch FROM clock_timestamp() - min(found_at)), 0)::float8 AS seconds
         FROM function_events e WHERE e.workload_id = w.id AND e.state = 'pending') pending
       CROSS JOIN LATERAL (SELECT count(*)::integer AS unmarked
         FROM function_events e WHERE e.workload_id = w.id AND e.state = 'delivered') unmarked
       CROSS JOIN LATERAL (SELECT count(*)::integer AS dead
         FROM function_events e WHERE e.workload_id = w.id AND e.state = 'dead') dead`,
  );
  return rows;
}
