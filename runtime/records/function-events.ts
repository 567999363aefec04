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
  /** What the function gets: a JSON text, passed on as it is; undefined where it is larger than {@link eventBytesMax} bytes. */
  payload: string | undefined;
}

/** Ids are kept in an index, whose entries have a limit. */
export const eventIdBytesMax = 2_000;

/** A thousand of them have to find room in memory and database. */
export const eventBytesMax = 1024 * 1024;

/** Events of one function that are kept at a time without being done; what is beyond stays in the source. */
export const undoneMax = 1_000;

/**
 * Dead letters of one function, and bytes of their content, with which nothing more of its source is read: a function that
 * refuses everything would fill the disk that all share.
 */
export const deadMax = 10_000;
export const deadBytesMax = 256 * 1024 * 1024;

/** Rows without content that one statement changes at most; it has 15 s. */
const batchRows = 5_000;
/** The same of rows with content, which may be large. */
export const contentBatchRows = 500;

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
  /** Whether events that were delivered before anything marked them may be left to be marked. */
  unmarkedLeft: boolean;
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
 * events are forgotten. One that changed is read, and marks what it has to, at once; one that marks events from now on
 * marks those that were delivered before, too. Repeating it is free; of a function that is not projected yet nothing is
 * written.
 */
export async function projectEventSource(
  pool: Pool,
  workloadId: Id,
  settings: FunctionEvents | undefined,
): Promise<void> {
  if (settings === undefined) return removeEventSource(pool, workloadId);
  const wanted = JSON.stringify(settings);
  const { rows } = await pool.query<{ same: boolean }>(
    `SELECT settings = $2::jsonb AS same FROM event_sources WHERE workload_id = $1`,
    [workloadId, wanted],
  );
  if (rows[0]?.same === true) return;
  await transaction(pool, async (client) => {
    const written = await client.query(
      `INSERT INTO event_sources (workload_id, settings, origin)
       SELECT id, $2, $3 FROM workloads WHERE id = $1 AND deleted_at IS NULL
       ON CONFLICT (workload_id) DO UPDATE SET settings = $2, origin = $3, poll = event_sources.poll + 1, error = NULL,
         failures = 0, marks_since = CASE WHEN NOT $2::jsonb ? 'markDone' THEN NULL
           WHEN event_sources.settings ? 'markDone' THEN event_sources.marks_since ELSE clock_timestamp() END`,
      [workloadId, wanted, originOf(settings)],
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

/** Nothing is read or delivered any more at once; then what is kept goes, with what an earlier call has left. */
async function removeEventSource(pool: Pool, workloadId: Id): Promise<void> {
  const left = ['event_sources', ...eventTables.map(({ name }) => name)].map(
    (name) => `EXISTS (SELECT FROM ${name} WHERE workload_id = $1)`,
  );
  const { rows } = await pool.query<{ left: boolean }>(`SELECT ${left.join(' OR ')} AS left`, [workloadId]);
  if (rows[0]?.left !== true) return;
  await transaction(pool, async (client) => {
    await client.query(`DELETE FROM event_sources WHERE workload_id = $1`, [workloadId]);
    await finishWork(client, 'events', [workloadId]);
  });
  for (const { name, batch } of eventTables) {
    for (let removed: number | null = 1; removed;) {
      ({ rowCount: removed } = await pool.query(
        `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(SELECT ctid FROM ${name} WHERE workload_id = $1 LIMIT $2))`,
        [workloadId, batch],
      ));
    }
  }
}

/** The data source of a living function; undefined when it has none, or its controller has not seen it yet. */
export async function findEventSource(database: Database, workloadId: Id): Promise<EventSourceState | undefined> {
  const { rows } = await database.query<EventSourceState>(
    `SELECT s.workload_id AS "workloadId", w.namespace, w.name, s.settings, s.origin, s.polled_at AS "polledAt", s.more, s.error,
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
  /** Its number; a newer one takes the right to write from it. */
  poll: string;
  /** When it began, by the database's clock. */
  startedAt: Date;
  /** How many events more are kept. */
  room: number;
  /** Whether there are as many dead letters as may be, so that nothing is to be read. */
  full: boolean;
}

/**
 * Begins to read a source. What was marked as done before is forgotten: if it is found now, it is there anew. What was
 * purged instead (due at infinity) stays known, and so does what was delivered before the source had a marking. What was
 * to be marked, and cannot be any more, takes no room: it is only known where the source marks nothing now, and forgotten
 * where it is another one.
 * @returns undefined when the source is another one by now, or none
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
      page.map(({ payload }) => payload ?? ''),
      page.map(({ payload }) => payload === undefined),
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
 * @param ended.more whether it stopped before the end, for want of room
 * @param ended.complete whether it has found all that is kept and that the source has still
 * @param seen the ids that it found
 */
export async function endPoll(
  database: Database,
  { workloadId, origin, poll, startedAt }: Poll,
  { more, complete }: { more: boolean; complete: boolean },
  seen: ReadonlySet<string>,
): Promise<void> {
  for (let forgotten: number | null = batchRows; forgotten === batchRows;) {
    // `<> ALL` is looked up in a hash, whatever PostgreSQL knows of the table's size by then; a join may not be.
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

/** Records how a turn with a source ended: undefined when it went well. */
export async function recordTurn(database: Database, workloadId: Id, error: string | undefined): Promise<void> {
  await database.query(
    `UPDATE event_sources SET error = $2, failures = CASE WHEN $2::text IS NULL THEN 0 ELSE failures + 1 END
     WHERE workload_id = $1 AND (error IS NOT NULL OR $2::text IS NOT NULL)`,
    [workloadId, error ?? null],
  );
}

/**
 * Has events that were delivered before the source had a marking be marked, too: as many as bring those that are to be
 * marked to `limit`. @returns whether any may be left
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
