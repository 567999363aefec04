import type { FailedDelivery, Lease, LeasedEvent } from '../contracts/event-exchange.ts';
import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { withoutNul } from '../domain/text-tail.ts';

/** Maximum failed deliveries of an event, after which it becomes a dead letter. */
const deliveriesMax = 12;

/** Maximum bytes of the events leased at once, without the last one. */
const leasedBytesMax = 4 * 1024 * 1024;

/**
 * Seconds since its first delivery after which a failing event becomes a dead letter, however long it waited before.
 */
const ageMaxSeconds = 24 * 3_600;
/** Maximum delay before the next delivery, in seconds. The delay doubles from 1, with jitter. */
const waitMaxSeconds = 3_600;

const columns = (leases: readonly Lease[]) => [leases.map(({ id }) => id), leases.map(({ epoch }) => epoch)];

/** A valid lease: the event was not leased again, and its result was not reported. */
const current = `e.workload_id = $1 AND e.id = l.id AND e.epoch = l.epoch AND e.state = 'pending' AND e.leased`;

/** The result of a request for events. */
export interface Leasing {
  events: LeasedEvent[];
  /** The number of them whose previous lease expired without a result. */
  lapsed: number;
  /** The source's ids of events that became dead letters instead, because their lease expired too often. */
  dead: string[];
}

/**
 * Leases due events of a function, the longest found first. A lease that expires without a result counts as a failed
 * delivery, so that an event that crashes its pod every time becomes a dead letter like a refused one.
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

/** A lease with more than this share of its time left is not renewed. */
const freshShare = 2 / 3;

/**
 * Renews leases, except those that have just begun.
 * @returns the events of leases that are no longer valid
 */
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
  const extended = new Set(rows.map(({ id }) => id));
  return leases.map(({ id }) => id).filter((id) => !extended.has(id));
}

/** Returns events that were not attempted. */
export async function releaseEvents(database: Database, workloadId: Id, leases: readonly Lease[]): Promise<void> {
  if (leases.length === 0) return;
  await database.query(
    `UPDATE function_events e SET due_at = now(), leased = false
     FROM unnest($2::bigint[], $3::integer[]) AS l (id, epoch) WHERE ${current}`,
    [workloadId, ...columns(leases)],
  );
}

/**
 * Records that the function handled events. They have to be marked as done in the source if it has a statement for
 * that; otherwise only their ids are kept.
 * @returns the number of valid leases, and whether the source needs a pass: to mark events, or to read those for which
 * there was no room
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
 * Records failed deliveries. Each event is due again later, or becomes a dead letter when the function refused it
 * permanently, or it failed too often or for too long.
 * @returns the number of valid leases, and the new dead letters
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
      workloadId,
      ...columns(failed),
      failed.map(messageOf),
      failed.map(({ status }) => isRefusal(status)),
      waitMaxSeconds,
      deliveriesMax,
      ageMaxSeconds,
    ],
  );
  return { counted: rows.length, dead: rows.filter(({ state }) => state === 'dead').map(({ eventId }) => eventId) };
}

/** Whether a repetition would be refused as well: 4xx except 408 and 429. */
function isRefusal(status: number | undefined): boolean {
  return status !== undefined && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function messageOf({ status, message }: FailedDelivery): string {
  const text = withoutNul(message);
  return status === undefined ? text : `The function answered ${status}${text === '' ? '.' : `: ${text}`}`;
}
