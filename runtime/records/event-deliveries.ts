import type { FailedDelivery, Lease, LeasedEvent } from '../contracts/event-exchange.ts';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';

/** Deliveries of one event that fail, after which it is given up. */
export const deliveriesMax = 12;

/** Content of the events that one answer leases, at most, but for the last one of them. */
const leasedBytesMax = 4 * 1024 * 1024;

/** An event that fails so long after its first delivery, in seconds, is given up, however long it waited before. */
const ageMaxSeconds = 24 * 3_600;
/** Wait before the next delivery, in seconds: doubles from 1 up to this, with jitter. */
const waitMaxSeconds = 3_600;

const columns = (leases: readonly Lease[]) => [leases.map(({ id }) => id), leases.map(({ epoch }) => epoch)];

/** A lease that still counts: nobody has leased the event since, and it has no answer yet. */
const current = `e.workload_id = $1 AND e.id = l.id AND e.epoch = l.epoch AND e.state = 'pending' AND e.leased`;

/** What a wish for events brought. */
export interface Leasing {
  events: LeasedEvent[];
  /** How many of them had a lease before that ran out without an answer. */
  lapsed: number;
  /** What the source calls those that were given up instead, since theirs ran out once too often. */
  dead: string[];
}

/**
 * Leases events of a function that are due, the longest found first. A lease that ran out without an answer counts as a
 * failed delivery: what ends its pod each time is given up like what is refused each time.
 */
export async function leaseEvents(
  database: Database,
  workloadId: Id,
  { max, leaseMs }: { max: number; leaseMs: number },
): Promise<Leasing> {
  if (max === 0) return { events: [], lapsed: 0, dead: [] };
  const { rows } = await database.query<LeasedEvent & { state: string; lapsed: boolean }>({
    name: 'lease-events',
    text: `WITH due AS (
         SELECT id, leased AS lapsed, octet_length(payload) AS bytes FROM function_events
         WHERE workload_id = $1 AND state = 'pending' AND due_at <= now()
         ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED),
       fitting AS (
         SELECT id, lapsed FROM (SELECT *, sum(bytes) OVER (ORDER BY id) - bytes AS before FROM due) summed
         WHERE before < $5)
       UPDATE function_events e SET epoch = epoch + 1, leased = true, due_at = now() + $3 * interval '1 ms',
         begun_at = CASE WHEN failures = 0 AND NOT leased THEN now() ELSE begun_at END,
         failures = failures + leased::integer,
         last_error = CASE WHEN leased THEN 'The pod ended or did not answer.' ELSE last_error END,
         state = CASE WHEN leased AND failures + 1 >= $4 THEN 'dead' ELSE 'pending' END,
         ended_at = CASE WHEN leased AND failures + 1 >= $4 THEN clock_timestamp() END
       FROM fitting WHERE e.id = fitting.id
       RETURNING e.id, e.epoch, e.event_id AS "eventId", e.payload, e.failures + 1 AS attempt, e.state,
         fitting.lapsed`,
    values: [workloadId, max, leaseMs, deliveriesMax, leasedBytesMax],
  });
  const leased = rows.filter(({ state }) => state === 'pending');
  const events = leased
    .map(({ id, epoch, eventId, payload, attempt }) => ({ id, epoch, eventId, payload, attempt }))
    .sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
  const dead = rows.filter(({ state }) => state === 'dead').map(({ eventId }) => eventId);
  return { events, lapsed: leased.filter(({ lapsed }) => lapsed).length, dead };
}

/** A lease with more than this of its time left is not written anew. */
const freshShare = 2 / 3;

/** Begins leases anew, but for those that have just begun. @returns the events of those that do not count any more */
export async function extendLeases(
  database: Database,
  workloadId: Id,
  leases: readonly Lease[],
  leaseMs: number,
): Promise<string[]> {
  if (leases.length === 0) return [];
  const { rows } = await database.query<{ id: string }>({
    name: 'extend-leases',
    text: `WITH fresh AS (
         SELECT e.id FROM function_events e, unnest($2::bigint[], $3::integer[]) AS l (id, epoch)
         WHERE ${current} AND e.due_at > now() + $5 * interval '1 ms'),
       renewed AS (
         UPDATE function_events e SET due_at = now() + $4 * interval '1 ms'
         FROM unnest($2::bigint[], $3::integer[]) AS l (id, epoch)
         WHERE ${current} AND e.due_at <= now() + $5 * interval '1 ms' RETURNING e.id)
       SELECT id FROM fresh UNION ALL SELECT id FROM renewed`,
    values: [workloadId, ...columns(leases), leaseMs, leaseMs * freshShare],
  });
  const kept = new Set(rows.map(({ id }) => id));
  return leases.map(({ id }) => id).filter((id) => !kept.has(id));
}

/** Gives back events that were not tried. */
export async function releaseEvents(database: Database, workloadId: Id, leases: readonly Lease[]): Promise<void> {
  if (leases.length === 0) return;
  await database.query(
    `UPDATE function_events e SET due_at = now(), leased = false
     FROM unnest($2::bigint[], $3::integer[]) AS l (id, epoch) WHERE ${current}`,
    [workloadId, ...columns(leases)],
  );
}

/**
 * Records that the function has taken events: they are to be marked as done in the source, where it has a statement for
 * that, and are only known otherwise.
 * @returns how many of the leases counted still, and whether the source's turn has something to do: marking, or what there
 * was no room for
 */
export async function recordDelivered(
  database: Database,
  workloadId: Id,
  leases: readonly Lease[],
): Promise<{ counted: number; busy: boolean }> {
  if (leases.length === 0) return { counted: 0, busy: false };
  const { rows } = await database.query<{ counted: number; busy: boolean | null }>({
    name: 'record-delivered-events',
    text: `WITH updated AS (
        UPDATE function_events e SET leased = false, payload = '', failures = 0, last_error = NULL, due_at = now(),
          state = CASE WHEN s.settings ? 'markDone' AND s.origin = e.origin THEN 'delivered' ELSE 'known' END,
          ended_at = clock_timestamp()
        FROM unnest($2::bigint[], $3::integer[]) AS l (id, epoch), event_sources s
        WHERE ${current} AND s.workload_id = $1
        RETURNING e.state = 'delivered' OR s.more AS busy)
      SELECT count(*)::integer AS counted, bool_or(busy) AS busy FROM updated`,
    values: [workloadId, ...columns(leases)],
  });
  return { counted: rows[0]?.counted ?? 0, busy: rows[0]?.busy === true };
}

/**
 * Records that events were not taken: each is due again later, or given up when the function refused it for good, it has
 * failed too often, or for too long. @returns how many of the leases counted still, and the events that were given up
 */
export async function recordFailed(
  database: Database,
  workloadId: Id,
  failed: readonly FailedDelivery[],
): Promise<{ counted: number; dead: string[] }> {
  if (failed.length === 0) return { counted: 0, dead: [] };
  const { rows } = await database.query<{ eventId: string; state: string }>(
    `UPDATE function_events e SET leased = false, failures = failures + 1, last_error = l.error,
       due_at = now() + LEAST($6, 2 ^ LEAST(failures, 20)) * (0.75 + random() / 4) * interval '1 second',
       state = CASE WHEN given_up THEN 'dead' ELSE 'pending' END,
       ended_at = CASE WHEN given_up THEN clock_timestamp() END
     FROM (SELECT * FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::boolean[]) AS f (id, epoch, error, final)) l
       JOIN LATERAL (SELECT l.final OR o.failures + 1 >= $7 OR o.begun_at < now() - $8 * interval '1 second' AS given_up
         FROM function_events o WHERE o.id = l.id) g ON true
     WHERE ${current} RETURNING e.event_id AS "eventId", e.state`,
    [
      ...[workloadId, ...columns(failed), failed.map(messageOf), failed.map(({ status }) => isRefusal(status))],
      ...[waitMaxSeconds, deliveriesMax, ageMaxSeconds],
    ],
  );
  return { counted: rows.length, dead: rows.filter(({ state }) => state === 'dead').map(({ eventId }) => eventId) };
}

/** Whether the same event would be refused again: a 4xx but 408 and 429. */
function isRefusal(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function messageOf({ status, message }: FailedDelivery): string {
  // PostgreSQL takes no zero characters.
  const plain = message.replaceAll('\0', '');
  return status === undefined ? plain : `The function answered ${status}${plain === '' ? '.' : `: ${plain}`}`;
}
