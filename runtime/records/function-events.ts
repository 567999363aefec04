import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { FunctionEvents } from '../contracts/resources/function.ts';
import { transaction, type Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { finishWork, hastenWork, renewWork } from './work.ts';

/** Something that a source holds, and that the function is to get once. */
export interface FoundEvent {
  /** What the source calls it: the same for as long as it is the same event; at most {@link eventIdBytesMax} bytes. */
  id: string;
  /** What the function gets: a JSON text, passed on as it is; at most {@link eventBytesMax} bytes. */
  payload: string;
}

/** Ids are kept in an index, whose entries have a limit. */
export const eventIdBytesMax = 2_000;

/** A thousand of them have to find room in memory and database. */
export const eventBytesMax = 1024 * 1024;

/** Events of one function that are kept at a time without being done; what is beyond stays in the source. */
export const undoneMax = 1_000;

/** The channel that tells, with the function's id, that events have come. */
export const eventsChannel = 'function_events';

/** What reading a function's source has brought. */
export interface EventSourceState {
  workloadId: Id;
  namespace: string;
  name: string;
  settings: FunctionEvents;
  /** What decides which event an id stands for. */
  origin: string;
  /** When it was last read. */
  polledAt: Date | null;
  /** Whether there was no more room for all of it then. */
  more: boolean;
  /** Why it could not be read, or nothing be marked as done. */
  error: string | null;
  /** Turns in a row that failed. */
  failures: number;
  /** When this was read, by the database's clock. */
  readAt: Date;
}

/** A digest of what decides which event an id stands for; how it is marked does not. Pure. */
export function originOf({ type, source, query, list, bucket }: FunctionEvents): string {
  const parts = [type, source, query ?? null, list ?? null, bucket ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

/**
 * Writes a function's data source as its object is now; what is not there any more is read no longer, and its undone
 * events are forgotten. One that changed is read at once. Repeating it is free; of a function that is not projected yet
 * nothing is written.
 */
export async function projectEventSource(
  pool: Pool,
  workloadId: Id,
  settings: FunctionEvents | undefined,
): Promise<void> {
  const wanted = settings === undefined ? null : JSON.stringify(settings);
  const { rows } = await pool.query<{ same: boolean }>(
    `SELECT settings = $2::jsonb AS same FROM event_sources WHERE workload_id = $1`,
    [workloadId, wanted],
  );
  if (settings === undefined ? rows.length === 0 : rows[0]?.same === true) return;
  await transaction(pool, async (client) => {
    if (settings === undefined) {
      await client.query(`DELETE FROM event_sources WHERE workload_id = $1`, [workloadId]);
      await client.query(`DELETE FROM function_events WHERE workload_id = $1`, [workloadId]);
      await client.query(`DELETE FROM event_objects WHERE workload_id = $1`, [workloadId]);
      await client.query(`DELETE FROM object_notices WHERE workload_id = $1`, [workloadId]);
      await finishWork(client, 'events', [workloadId]);
      return;
    }
    const written = await client.query(
      `INSERT INTO event_sources (workload_id, settings, origin)
       SELECT id, $2, $3 FROM workloads WHERE id = $1 AND deleted_at IS NULL
       ON CONFLICT (workload_id) DO UPDATE SET settings = $2, origin = $3, poll = event_sources.poll + 1, error = NULL,
         failures = 0`,
      [workloadId, wanted, originOf(settings)],
    );
    if (written.rowCount === 1) await renewWork(client, 'events', workloadId);
  });
}

/** The data source of a living function; undefined when it has none, or its controller has not seen it yet. */
export async function findEventSource(database: Database, workloadId: Id): Promise<EventSourceState | undefined> {
  const { rows } = await database.query<EventSourceState>(
    `SELECT s.workload_id AS "workloadId", w.namespace, w.name, s.settings, s.origin, s.polled_at AS "polledAt", s.more, s.error,
       s.failures, clock_timestamp() AS "readAt"
     FROM event_sources s JOIN workloads w ON w.id = s.workload_id
     WHERE s.workload_id = $1 AND w.deleted_at IS NULL`,
    [workloadId],
  );
  return rows[0];
}

/** One reading of a source, from its beginning. */
export interface Poll {
  workloadId: Id;
  origin: string;
  /** Its number; a newer one takes the right to write from it. */
  poll: string;
  /** When it began, by the database's clock. */
  startedAt: Date;
  /** How many events more are kept. */
  room: number;
}

/**
 * Begins to read a source. What was marked as done before is forgotten: if it is found now, it is there anew. What was
 * purged instead (due at infinity) stays known.
 * @returns undefined when the source is another one by now, or none
 */
export async function beginPoll(
  database: Database,
  { workloadId, origin }: Pick<EventSourceState, 'workloadId' | 'origin'>,
): Promise<Poll | undefined> {
  const { rows } = await database.query<Omit<Poll, 'room'> & { undone: number }>(
    `WITH begun AS (
       UPDATE event_sources SET poll = poll + 1 WHERE workload_id = $1 AND origin = $2
       RETURNING workload_id, origin, poll, settings ? 'markDone' AS marks, clock_timestamp() AS started_at),
     forgotten AS (
       DELETE FROM function_events e USING begun WHERE e.workload_id = $1 AND e.state = 'known'
         AND (begun.marks AND e.due_at < 'infinity' OR e.origin <> begun.origin))
     SELECT workload_id AS "workloadId", origin, poll, started_at AS "startedAt",
       (SELECT count(*)::integer FROM function_events
        WHERE workload_id = $1 AND state IN ('pending', 'delivered')) AS undone
     FROM begun`,
    [workloadId, origin],
  );
  const row = rows[0];
  if (!row) return undefined;
  const { undone, ...poll } = row;
  return { ...poll, room: Math.max(0, undoneMax - undone) };
}

/** What became of a page of events. */
export interface Taken {
  /** These are kept now, or were before, in the page's order; all of the page but where there was no more room. */
  events: readonly FoundEvent[];
  /** How many are new. */
  added: number;
}

/**
 * Keeps the events of a page that are not kept yet, at most `room` of them, and tells who waits for some. An event that is
 * too large is kept as a dead letter without its content.
 * @returns undefined when a newer poll has begun, or the source is another one by now
 */
export async function takeEvents(
  database: Database,
  { workloadId, origin, poll }: Poll,
  page: readonly FoundEvent[],
  room: number,
): Promise<Taken | undefined> {
  const tooLarge = ({ payload }: FoundEvent) => Buffer.byteLength(payload) > eventBytesMax;
  const { rows } = await database.query<{ current: boolean; added: string[] }>({
    name: 'take-events',
    text: `WITH current AS (
         SELECT workload_id, origin FROM event_sources WHERE workload_id = $1 AND origin = $2 AND poll = $3 FOR SHARE),
       fresh AS (
         SELECT f.id, f.payload, f.large, f.n
         FROM current, unnest($4::text[], $5::text[], $6::boolean[]) WITH ORDINALITY f (id, payload, large, n)
         WHERE NOT EXISTS (SELECT FROM function_events e
           WHERE e.workload_id = $1 AND e.origin = $2 AND e.event_id = f.id)
         ORDER BY f.n LIMIT $7),
       added AS (
         INSERT INTO function_events (workload_id, origin, event_id, payload, state, last_error, ended_at)
         SELECT $1, $2, id, payload, CASE WHEN large THEN 'dead' ELSE 'pending' END,
           CASE WHEN large THEN $8 END, CASE WHEN large THEN now() END
         FROM fresh ORDER BY n ON CONFLICT DO NOTHING RETURNING event_id)
     SELECT EXISTS (SELECT FROM current) AS current, ARRAY(SELECT event_id FROM added) AS added,
       CASE WHEN EXISTS (SELECT FROM added) THEN pg_notify('${eventsChannel}', $1::text) END`,
    values: [
      ...[workloadId, origin, poll, page.map(({ id }) => id)],
      page.map((event) => (tooLarge(event) ? '' : event.payload)),
      page.map(tooLarge),
      ...[room, `The event is larger than ${eventBytesMax} bytes.`],
    ],
  });
  const row = rows[0];
  if (!row?.current) return undefined;
  const added = new Set(row.added);
  const last = added.size < room ? page.length - 1 : page.findLastIndex(({ id }) => added.has(id));
  return { events: page.slice(0, last + 1), added: added.size };
}

/**
 * Ends a poll. One that was complete forgets what is known and was not found any more: without a statement that marks
 * events as done, that is how the source says so.
 * @param more whether it stopped before the end, for want of room
 * @param seen the ids that it found
 */
export async function endPoll(
  database: Database,
  { workloadId, origin, poll, startedAt }: Poll,
  more: boolean,
  seen: ReadonlySet<string>,
): Promise<void> {
  await database.query(
    `WITH current AS (
       UPDATE event_sources SET polled_at = clock_timestamp(), more = $6 WHERE workload_id = $1 AND origin = $2 AND poll = $3
       RETURNING workload_id)
     DELETE FROM function_events e USING current WHERE NOT $6 AND e.workload_id = $1 AND e.origin = $2
       AND e.state = 'known' AND e.found_at < $5
       AND NOT EXISTS (SELECT FROM unnest($4::text[]) seen (id) WHERE seen.id = e.event_id)`,
    [workloadId, origin, poll, more ? [] : [...seen], startedAt, more],
  );
}

/** Records how a turn with a source ended: undefined when it went well. */
export async function recordTurn(database: Database, workloadId: Id, error: string | undefined): Promise<void> {
  await database.query(
    `UPDATE event_sources SET error = $2, failures = CASE WHEN $2::text IS NULL THEN 0 ELSE failures + 1 END
     WHERE workload_id = $1 AND (error IS NOT NULL OR $2::text IS NOT NULL)`,
    [workloadId, error ?? null],
  );
}

/** An event that was delivered and is to be marked as done in its source. */
export interface DeliveredEvent {
  id: string;
  /** What the source calls it. */
  eventId: string;
}

/**
 * Up to `limit` delivered events whose marking is due, the longest found first. Only one worker has a function's turn
 * at a time, and marking twice is harmless, so nothing is leased.
 */
export async function listDelivered(
  database: Database,
  { workloadId, origin }: Pick<EventSourceState, 'workloadId' | 'origin'>,
  limit: number,
): Promise<DeliveredEvent[]> {
  const { rows } = await database.query<DeliveredEvent>({
    name: 'list-delivered-events',
    text: `SELECT id, event_id AS "eventId" FROM function_events
      WHERE workload_id = $1 AND origin = $2 AND state = 'delivered' AND due_at <= now() ORDER BY id LIMIT $3`,
    values: [workloadId, origin, limit],
  });
  return rows;
}

/** Records that events are marked as done in their source; those that are no longer `delivered` stay as they are. */
export async function recordMarked(database: Database, ids: readonly string[]): Promise<void> {
  await database.query({
    name: 'record-marked-events',
    text: `UPDATE function_events SET state = 'known', ended_at = clock_timestamp(), last_error = NULL
      WHERE id = ANY($1::bigint[]) AND state = 'delivered'`,
    values: [ids],
  });
}

/** How long the marking of an event waits after a failure, at most, in seconds. */
const markingWaitMaxSeconds = 300;

/** Records why events could not be marked as done; each is tried again later, without being delivered again. */
export async function recordMarkFailures(database: Database, failed: ReadonlyMap<string, string>): Promise<void> {
  if (failed.size === 0) return;
  await database.query(
    `UPDATE function_events e SET failures = failures + 1, last_error = f.error,
       due_at = now() + LEAST($3, 2 ^ LEAST(failures, 20)) * (0.75 + random() / 4) * interval '1 second'
     FROM unnest($1::bigint[], $2::text[]) AS f (id, error) WHERE e.id = f.id AND e.state = 'delivered'`,
    [[...failed.keys()], [...failed.values()], markingWaitMaxSeconds],
  );
}

/** Has the turn of a function's source come now. */
export async function hastenEvents(database: Database, workloadId: Id): Promise<void> {
  await hastenWork(database, 'events', [workloadId]);
}
