import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import { contentBatchRows, eventsChannel } from './function-events.ts';

/** An event of a function that is not done. */
export interface UndoneEvent {
  /** Its number, which grows in the order in which events were found. */
  number: string;
  /** What the source calls it. */
  id: string;
  /** `waiting`: for its first or next delivery. `delivering`: leased. `marking`: delivered, to be marked as done. */
  state: 'waiting' | 'delivering' | 'marking' | 'dead';
  foundAt: Date;
  /** When it is due again. */
  dueAt: Date;
  /** In a row: deliveries, or markings of one that was delivered. */
  failures: number;
  lastError: string | null;
  /** Since when it is dead. */
  endedAt: Date | null;
}

const columns = `id AS number, event_id AS id, found_at AS "foundAt", due_at AS "dueAt", failures,
  last_error AS "lastError", ended_at AS "endedAt", CASE state WHEN 'dead' THEN 'dead' WHEN 'delivered' THEN 'marking'
  ELSE CASE WHEN leased AND due_at > now() THEN 'delivering' ELSE 'waiting' END END AS state`;

/** A function's events that are not done and not given up, in the order of the source: up to `limit` after `after`. */
export async function listUndone(
  database: Database,
  workloadId: Id,
  { limit, after }: { limit: number; after?: string | undefined },
): Promise<UndoneEvent[]> {
  const { rows } = await database.query<UndoneEvent>(
    `SELECT ${columns} FROM function_events
     WHERE workload_id = $1 AND state IN ('pending', 'delivered') AND id > COALESCE($2::bigint, 0) ORDER BY function_events.id LIMIT $3`,
    [workloadId, after ?? null, limit],
  );
  return rows;
}

/** A dead letter with what was to be delivered. */
export interface DeadLetter extends UndoneEvent {
  /** A JSON text; empty for an event that was too large to be kept. */
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

/** Which dead letters: some by number, or all. */
export type Letters = readonly string[] | 'all';

/**
 * Changes dead letters, some at a time, since their content may be large; each once, whatever becomes of it meanwhile.
 * @param which a condition beside @returns how many
 */
async function change(
  database: Database,
  { workloadId, letters, which, set }: { workloadId: Id; letters: Letters; which: string; set: string },
): Promise<number> {
  let total = 0;
  for (let after = '0', found = contentBatchRows; found === contentBatchRows;) {
    const { rows } = await database.query<{ found: number; last: string; changed: number }>(
      `WITH found AS (
         SELECT id FROM function_events WHERE workload_id = $1 AND state = 'dead' AND ${which} AND id > $3
           AND ($2::bigint[] IS NULL OR id = ANY($2)) ORDER BY id LIMIT $4),
       changed AS (
         UPDATE function_events e SET ${set} FROM found WHERE e.id = found.id AND e.state = 'dead' RETURNING e.id)
       SELECT count(*)::integer AS found, max(id) AS last, (SELECT count(*)::integer FROM changed) AS changed FROM found`,
      [workloadId, letters === 'all' ? null : letters, after, contentBatchRows],
    );
    const [batch = { found: 0, last: after, changed: 0 }] = rows;
    ({ found, last: after } = batch);
    total += batch.changed;
  }
  return total;
}

/**
 * Has dead letters delivered again, as if they had just been found; those without content stay.
 * @returns how many
 */
export async function redrive(database: Database, workloadId: Id, letters: Letters): Promise<number> {
  const count = await change(database, {
    ...{ workloadId, letters, which: `payload <> ''` },
    set: `state = 'pending', due_at = now(), failures = 0, leased = false, ended_at = NULL`,
  });
  if (count > 0) await database.query(`SELECT pg_notify('${eventsChannel}', $1)`, [workloadId]);
  return count;
}

/**
 * Forgets dead letters and their content; none of them is delivered again for as long as the source has it.
 * @returns how many
 */
export async function purgeDead(database: Database, workloadId: Id, letters: Letters): Promise<number> {
  return change(database, {
    ...{ workloadId, letters, which: 'true' },
    set: `state = 'known', payload = '', due_at = 'infinity'`,
  });
}

/** Events that the function has not taken, but for those of one origin. */
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

/** How many events of a function there are, by what becomes of them. */
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
