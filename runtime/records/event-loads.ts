import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** What the data source of a function asks of its pods. */
export interface EventLoad {
  /** Events that a pod has, or is to deliver within a moment; at most `undoneMax`. */
  backlog: number;
  /** Why the source could not be read, or nothing be marked as done in it; null where both went well. */
  problem: string | null;
}

/** A pod that is there delivers what waits for its next attempt no longer than that; for more than that none stays. */
const soonSeconds = 5;

/** The load of every function with a data source, by the function's id. */
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

/** How many events of a function there are, for its metrics. */
export interface EventTotals {
  namespace: string;
  name: string;
  /** Neither delivered nor given up. */
  backlog: number;
  /** Delivered, and not yet marked as done in the source. */
  unmarked: number;
  dead: number;
  /** For how long the one of the backlog that was found first has been there. */
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
