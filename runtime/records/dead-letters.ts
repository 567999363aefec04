import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { contentBatchRows, eventsChannel } from './function-events.ts';

/** A pending event or dead letter of a function. */
export interface StoredEvent {
  /** Its number; ascending in the order in which events were found. */
  number: string;
  /** The source's id of the event. */
  id: string;
  /** `waiting`: for its first or next delivery. `delivering`: leased. `marking`: delivered, to be marked as done. */
  state: 'waiting' | 'delivering' | 'marking' | 'dead';
  foundAt: Date;
  /** Time of the next attempt. */
  dueAt: Date;
  /** Consecutive failures: deliveries, or attempts to mark a delivered event as done. */
  failures: number;
  lastError: string | null;
  /** When it became a dead letter. */
  endedAt: Date | null;
}

const columns = `id AS number, event_id AS id, found_at AS "foundAt", due_at AS "dueAt", failures,
  last_error AS "lastError", ended_at AS "endedAt", CASE state WHEN 'dead' THEN 'dead' WHEN 'delivered' THEN 'marking'
  ELSE CASE WHEN leased AND due_at > now() THEN 'delivering' ELSE 'waiting' END END AS state`;

/** A function's pending events, in the order of the source: up to `limit` after `after`. */
export async function listPendingEvents(
  database: Database,
  workloadId: Id,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<StoredEvent[]> {
  const { rows } = await database.query<StoredEvent>(
    `SELECT ${columns} FROM function_events
     WHERE workload_id = $1 AND state IN ('pending', 'delivered') AND id > COALESCE($2::bigint, 0) ORDER BY function_events.id LIMIT $3`,
    [workloadId, after ?? null, limit],
  );
  return rows;
}

/** A dead letter with its content. */
export interface DeadLetter extends StoredEvent {
  /** A JSON text; empty for an event that was too large to store. */
  payload: string;
}

/** A function's dead letters, newest first: up to `limit` before `before`. */
export async function listDead(
  database: Database,
  workloadId: Id,
  { limit, before }: { limit: number; before?: string | undefined },
): Promise<DeadLetter[]> {
  const { rows } = await database.query<DeadLetter>(
    `SELECT ${columns}, payload FROM function_events
     WHERE workload_id = $1 AND state = 'dead' AND ($2::bigint IS NULL OR id < $2) ORDER BY function_events.id DESC LIMIT $3`,
    [workloadId, before ?? null, limit],
  );
  return rows;
}

/** Selects dead letters: some by number, or all. */
export type Letters = readonly string[] | 'all';

/**
 * Changes dead letters in batches, because their content may be large. Each is changed once, even when it becomes a
 * dead letter again.
 * @param which an additional SQL condition
 * @returns the number of changed dead letters
 */
async function change(
  database: Database,
  { workloadId, letters, which, set }: { workloadId: Id; letters: Letters; which: string; set: string },
): Promise<number> {
  let total = 0;
  for (let after = '0', selected = contentBatchRows; selected === contentBatchRows;) {
    const { rows } = await database.query<{ selected: number; last: string; changed: number }>(
      `WITH selected AS (
         SELECT id FROM function_events WHERE workload_id = $1 AND state = 'dead' AND ${which} AND id > $3
           AND ($2::bigint[] IS NULL OR id = ANY($2)) ORDER BY id LIMIT $4),
       changed AS (
         UPDATE function_events e SET ${set} FROM selected WHERE e.id = selected.id AND e.state = 'dead' RETURNING e.id)
       SELECT count(*)::integer AS selected, max(id) AS last, (SELECT count(*)::integer FROM changed) AS changed
       FROM selected`,
      [workloadId, letters === 'all' ? null : letters, after, contentBatchRows],
    );
    const [batch = { selected: 0, last: after, changed: 0 }] = rows;
    ({ selected, last: after } = batch);
    total += batch.changed;
  }
  return total;
}

/**
 * Schedules dead letters for delivery as if they had just been found; those without content stay.
 * @returns the number of redriven dead letters
 */
export async function redrive(database: Database, workloadId: Id, letters: Letters): Promise<number> {
  const count = await change(database, {
    workloadId,
    letters,
    which: `payload <> ''`,
    set: `state = 'pending', due_at = now(), failures = 0, leased = false, ended_at = NULL`,
  });
  if (count > 0) await database.query(`SELECT pg_notify('${eventsChannel}', $1)`, [workloadId]);
  return count;
}

/**
 * Deletes the content of dead letters. Their events are not delivered again while they remain in the source.
 * @returns the number of purged dead letters
 */
export async function purgeDead(database: Database, workloadId: Id, letters: Letters): Promise<number> {
  return change(database, {
    workloadId,
    letters,
    which: 'true',
    set: `state = 'known', payload = '', due_at = 'infinity'`,
  });
}

/** The number of undelivered events, except those of one origin. */
export async function countUndelivered(
  database: Database,
  workloadId: Id,
  except: string | undefined,
): Promise<{ waiting: number; dead: number }> {
  const { rows } = await database.query<{ waiting: number; dead: number }>(
    `SELECT (count(*) FILTER (WHERE state = 'pending'))::integer AS waiting,
       (count(*) FILTER (WHERE state = 'dead'))::integer AS dead
     FROM function_events WHERE workload_id = $1 AND state IN ('pending', 'dead') AND origin IS DISTINCT FROM $2`,
    [workloadId, except ?? null],
  );
  return rows[0] ?? { waiting: 0, dead: 0 };
}

/** The number of a function's events in each state. */
export interface EventCounts {
  waiting: number;
  delivering: number;
  marking: number;
  dead: number;
}

export async function countEvents(database: Database, workloadId: Id): Promise<EventCounts> {
  const { rows } = await database.query<EventCounts>(
    `SELECT (count(*) FILTER (WHERE state = 'pending' AND NOT (leased AND due_at > now())))::integer AS waiting,
       (count(*) FILTER (WHERE state = 'pending' AND leased AND due_at > now()))::integer AS delivering,
       (count(*) FILTER (WHERE state = 'delivered'))::integer AS marking,
       (count(*) FILTER (WHERE state = 'dead'))::integer AS dead
     FROM function_events WHERE workload_id = $1 AND state <> 'known'`,
    [workloadId],
  );
  return rows[0] ?? { waiting: 0, delivering: 0, marking: 0, dead: 0 };
}
