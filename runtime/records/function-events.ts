import { createHash } from 'node:crypto';
import type { Pool } from 'pg';
import type { FunctionEvents } from '../contracts/resources/function.ts';
import { transaction, type Database } from '../db/pool.ts';
import { inSlices } from '../db/slices.ts';
import { eventBytesMax, type SourceEvent } from '../domain/events.ts';
import type { Id } from '../domain/ids.ts';
import { finishWork, expediteWork, renewWork } from './work.ts';

/** Maximum stored events of one function that are not done; the others stay in the source. */
export const undoneMax = 1_000;

/**
 * Maximum dead letters of one function, and bytes of their content. Beyond them its source is not read, because a
 * function that refuses all events would fill the shared disk.
 */
export const deadMax = 10_000;
export const deadBytesMax = 256 * 1024 * 1024;

/** Maximum rows without content that one statement changes, because of its time-out of 15 s. */
const batchRows = 5_000;
/** The same for rows with content, which may be large. */
export const contentBatchRows = 500;

/** The channel of notifications about new events, with the function's id. */
export const eventsChannel = 'function_events';

/** The state of reading a function's source. */
export interface EventSourceState {
  workloadId: Id;
  project: string;
  namespace: string;
  name: string;
  settings: FunctionEvents;
  /** Identifies the settings that decide which event an id refers to. */
  origin: string;
  /** Whether there may be unmarked events that were delivered before the source had a mark-done statement. */
  unmarkedLeft: boolean;
  /** When the source was last read. */
  polledAt: Date | null;
  /** Whether events were left in the source for lack of room. */
  more: boolean;
  /** Why it could not be read, or events could not be marked as done. */
  error: string | null;
  /** Consecutive failed passes. */
  failures: number;
  /** The database's time of this read. */
  readAt: Date;
}

/**
 * A digest of the settings that decide which event an id refers to; the mark-done statement is not among them. Pure.
 */
export function originOf({ type, source, query, list, bucket }: FunctionEvents): string {
  const parts = [type, source, query ?? null, list ?? null, bucket ?? null];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 12);
}

/**
 * Writes a function's data source from its object. A removed source is no longer read, and its pending events are
 * deleted. A changed source is read immediately; one that newly marks events also marks those delivered before.
 * Idempotent. Writes nothing for a function that is not projected yet.
 */
export async function projectEventSource(
  pool: Pool,
  workloadId: Id,
  settings: FunctionEvents | undefined,
): Promise<void> {
  if (settings === undefined) return removeEventSource(pool, workloadId);
  const desired = JSON.stringify(settings);
  const { rows } = await pool.query<{ same: boolean }>(
    `SELECT settings = $2::jsonb AS same FROM event_sources WHERE workload_id = $1`,
    [workloadId, desired],
  );
  if (rows[0]?.same === true) return;
  await transaction(pool, async (client) => {
    const written = await client.query(
      `INSERT INTO event_sources (workload_id, settings, origin)
       SELECT id, $2, $3 FROM workloads WHERE id = $1 AND deleted_at IS NULL
       ON CONFLICT (workload_id) DO UPDATE SET settings = $2, origin = $3, poll = event_sources.poll + 1, error = NULL,
         failures = 0, marks_since = CASE WHEN NOT $2::jsonb ? 'markDone' THEN NULL
           WHEN event_sources.settings ? 'markDone' THEN event_sources.marks_since ELSE clock_timestamp() END`,
      [workloadId, desired, originOf(settings)],
    );
    if (written.rowCount !== 1) return;
    await client.query(
      `UPDATE function_events SET due_at = now() WHERE workload_id = $1 AND state = 'delivered' AND due_at > now()`,
      [workloadId],
    );
    await renewWork(client, 'events', workloadId);
  });
}

const eventTables = [
  { name: 'function_events', batch: contentBatchRows },
  { name: 'event_objects', batch: batchRows },
  { name: 'object_notices', batch: batchRows },
] as const;

/** Which of these workloads have a data source or events; undefined for the others. */
export async function findEventful(database: Database, workloadIds: readonly Id[]): Promise<(true | undefined)[]> {
  const conditions = ['event_sources', ...eventTables.map(({ name }) => name)].map(
    (name) => `EXISTS (SELECT FROM ${name} WHERE workload_id = asked.id)`,
  );
  const { rows } = await database.query<{ id: Id }>(
    `SELECT id FROM unnest($1::uuid[]) AS asked (id) WHERE ${conditions.join(' OR ')}`,
    [workloadIds],
  );
  const eventful = new Set(rows.map(({ id }) => id));
  return workloadIds.map((id) => eventful.has(id) || undefined);
}

/**
 * Deletes the source first, so that reading and delivering stop, and then its events, including those that an
 * interrupted call left.
 */
async function removeEventSource(pool: Pool, workloadId: Id): Promise<void> {
  const [eventful] = await findEventful(pool, [workloadId]);
  if (!eventful) return;
  await transaction(pool, async (client) => {
    await client.query(`DELETE FROM event_sources WHERE workload_id = $1`, [workloadId]);
    await finishWork(client, 'events', [workloadId]);
  });
  for (const { name, batch } of eventTables) {
    await inSlices(
      pool,
      `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE workload_id = $1 LIMIT $2))`,
      [workloadId],
      batch,
    );
  }
}

/** The data source of an existing function; undefined without one, or before its controller projected it. */
export async function findEventSource(database: Database, workloadId: Id): Promise<EventSourceState | undefined> {
  const { rows } = await database.query<EventSourceState>(
    `SELECT s.workload_id AS "workloadId", w.project, w.namespace, w.name, s.settings, s.origin, s.polled_at AS "polledAt", s.more, s.error,
       s.marks_since IS NOT NULL AS "unmarkedLeft", s.failures, clock_timestamp() AS "readAt"
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
  /** Its number. A poll with a higher number ends its right to write. */
  poll: string;
  /** When it began, by the database's clock. */
  startedAt: Date;
  /** How many more events can be stored. */
  room: number;
  /** Whether the maximum of dead letters is reached, so that nothing must be read. */
  full: boolean;
}

/**
 * Begins to read a source. Deletes the ids of events that were marked as done: if one is found again, it is a new
 * event. Keeps the ids of purged events (due at infinity) and of events that were delivered before the source had a
 * mark-done statement. Events that can no longer be marked take no room: their ids are kept if the source has no such
 * statement now, and deleted if it is a different source.
 * @returns undefined when the source was removed or replaced
 */
export async function beginPoll(
  database: Database,
  { workloadId, origin }: Pick<EventSourceState, 'workloadId' | 'origin'>,
): Promise<Poll | undefined> {
  for (;;) {
    const { rows } = await database.query<Omit<Poll, 'room' | 'full'> & Begun>(
      `WITH begun AS (
       UPDATE event_sources SET poll = poll + 1 WHERE workload_id = $1 AND origin = $2
       RETURNING workload_id, origin, poll, settings ? 'markDone' AS marks, marks_since, clock_timestamp() AS started_at),
     forgotten AS (
       DELETE FROM function_events WHERE id IN (SELECT e.id FROM function_events e, begun WHERE e.workload_id = $1
         AND (e.state = 'known' AND begun.marks AND e.due_at < 'infinity'
             AND (begun.marks_since IS NULL OR e.ended_at >= begun.marks_since)
           OR e.state IN ('known', 'delivered') AND e.origin <> begun.origin) LIMIT $3) RETURNING id),
     dead AS (SELECT octet_length(payload) AS bytes FROM function_events WHERE workload_id = $1 AND state = 'dead' LIMIT $4),
     unmarked AS (
       UPDATE function_events e SET state = 'known' FROM begun
       WHERE e.workload_id = $1 AND e.origin = begun.origin AND e.state = 'delivered' AND NOT begun.marks)
     SELECT workload_id AS "workloadId", origin, poll, started_at AS "startedAt",
       (SELECT count(*)::integer FROM function_events e WHERE e.workload_id = $1 AND e.state = 'pending')
         + (SELECT count(*)::integer FROM function_events e WHERE e.workload_id = $1 AND e.state = 'delivered'
            AND e.origin = begun.origin AND begun.marks) AS undone,
       (SELECT count(*)::integer FROM forgotten) AS forgotten, (SELECT count(*)::integer FROM dead) AS dead,
       (SELECT COALESCE(sum(bytes), 0)::float8 FROM dead) AS "deadBytes"
     FROM begun`,
      [workloadId, origin, batchRows, deadMax],
    );
    const row = rows[0];
    if (!row) return undefined;
    const { undone, forgotten, dead, deadBytes, ...poll } = row;
    if (forgotten === batchRows) continue;
    return { ...poll, room: Math.max(0, undoneMax - undone), full: dead >= deadMax || deadBytes >= deadBytesMax };
  }
}

interface Begun {
  undone: number;
  forgotten: number;
  dead: number;
  deadBytes: number;
}

/** The result of storing a page of events. */
export interface Taken {
  /** The events of the page that are stored now, in the page's order; all of them unless there was no room. */
  events: readonly SourceEvent[];
  /** The number of new events. */
  added: number;
}

/**
 * Stores the new events of a page, at most `room`, and notifies waiting sidecars. An event that is too large becomes a
 * dead letter without content.
 * @returns undefined when a newer poll has begun, or the source was replaced
 */
export async function addEvents(
  database: Database,
  { workloadId, origin, poll }: Poll,
  page: readonly SourceEvent[],
  room: number,
): Promise<Taken | undefined> {
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
      workloadId,
      origin,
      poll,
      page.map(({ id }) => id),
      page.map(({ payload }) => payload ?? ''),
      page.map(({ payload }) => payload === undefined),
      room,
      `The event is larger than ${eventBytesMax} bytes.`,
    ],
  });
  const row = rows[0];
  if (!row?.current) return undefined;
  const added = new Set(row.added);
  const last = added.size < room ? page.length - 1 : page.findLastIndex(({ id }) => added.has(id));
  return { events: page.slice(0, last + 1), added: added.size };
}

/**
 * Ends a poll. A complete one deletes the ids that were not found any more: without a mark-done statement, this is how
 * events leave the source.
 * @param ended.more whether it stopped early for lack of room
 * @param ended.complete whether it found all stored events that are still in the source
 * @param seen the ids that it found
 */
export async function endPoll(
  database: Database,
  { workloadId, origin, poll, startedAt }: Poll,
  { more, complete }: { more: boolean; complete: boolean },
  seen: ReadonlySet<string>,
): Promise<void> {
  for (let forgotten: number | null = batchRows; forgotten === batchRows;) {
    // PostgreSQL always uses a hash for `<> ALL`; for a join, that depends on its statistics.
    ({ rowCount: forgotten } = await database.query(
      `WITH current AS (
         UPDATE event_sources SET polled_at = clock_timestamp(), more = $6 WHERE workload_id = $1 AND origin = $2 AND poll = $3
         RETURNING workload_id)
       DELETE FROM function_events WHERE id IN (SELECT e.id FROM function_events e, current
         WHERE $7 AND e.workload_id = $1 AND e.origin = $2 AND e.state = 'known' AND e.found_at < $5
           AND e.event_id <> ALL ($4::text[]) LIMIT $8)`,
      [workloadId, origin, poll, complete ? [...seen] : [], startedAt, more, complete, batchRows],
    ));
  }
}

/** Records the result of a pass over a source; undefined for success. */
export async function recordPass(database: Database, workloadId: Id, error: string | undefined): Promise<void> {
  await database.query(
    `UPDATE event_sources SET error = $2, failures = CASE WHEN $2::text IS NULL THEN 0 ELSE failures + 1 END
     WHERE workload_id = $1 AND (error IS NOT NULL OR $2::text IS NOT NULL)`,
    [workloadId, error ?? null],
  );
}

/**
 * Schedules marking for events that were delivered before the source had a mark-done statement, so that up to `limit`
 * are to be marked.
 * @returns whether any may be left
 */
export async function recallUnmarked(
  database: Database,
  { workloadId, origin }: Pick<EventSourceState, 'workloadId' | 'origin'>,
  limit: number,
): Promise<boolean> {
  const unmarked = `e.workload_id = $1 AND e.origin = $2 AND e.state = 'known' AND e.due_at < 'infinity'
    AND e.ended_at < s.marks_since`;
  const { rowCount: recalled } = await database.query(
    `UPDATE function_events SET state = 'delivered', due_at = now() WHERE id IN (
       SELECT e.id FROM event_sources s, function_events e WHERE s.workload_id = $1 AND s.origin = $2 AND ${unmarked}
       LIMIT GREATEST(0, $3 - (SELECT count(*) FROM function_events WHERE workload_id = $1 AND state = 'delivered')))`,
    [workloadId, origin, limit],
  );
  if (recalled) return true;
  const { rowCount: over } = await database.query(
    `UPDATE event_sources s SET marks_since = NULL WHERE workload_id = $1 AND origin = $2
       AND NOT EXISTS (SELECT FROM function_events e WHERE ${unmarked})`,
    [workloadId, origin],
  );
  return over === 0;
}

/** An event that was delivered and has to be marked as done in its source. */
export interface DeliveredEvent {
  id: string;
  /** The source's id of the event. */
  eventId: string;
}

/**
 * Up to `limit` delivered events whose marking is due, the longest found first. They are not leased, because only one
 * worker at a time runs a pass of a function, and marking twice is harmless.
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

/** Records that events are marked as done in their source; changes only those in the state `delivered`. */
export async function recordMarked(database: Database, ids: readonly string[]): Promise<void> {
  await database.query({
    name: 'record-marked-events',
    text: `UPDATE function_events SET state = 'known', ended_at = clock_timestamp(), last_error = NULL
      WHERE id = ANY($1::bigint[]) AND state = 'delivered'`,
    values: [ids],
  });
}

/** Maximum delay before marking is retried, in seconds. */
const markingWaitMaxSeconds = 300;

/** Records why events could not be marked as done; marking is retried later, without another delivery. */
export async function recordMarkFailures(database: Database, failed: ReadonlyMap<string, string>): Promise<void> {
  if (failed.size === 0) return;
  await database.query(
    `UPDATE function_events e SET failures = failures + 1, last_error = f.error,
       due_at = now() + LEAST($3, 2 ^ LEAST(failures, 20)) * (0.75 + random() / 4) * interval '1 second'
     FROM unnest($1::bigint[], $2::text[]) AS f (id, error) WHERE e.id = f.id AND e.state = 'delivered'`,
    [[...failed.keys()], [...failed.values()], markingWaitMaxSeconds],
  );
}

/** Makes the next pass of a function's source due now. */
export async function expediteEvents(database: Database, workloadId: Id): Promise<void> {
  await expediteWork(database, 'events', [workloadId]);
}
