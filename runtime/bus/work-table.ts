import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import type { QueueName, WorkPayload } from '../queues/catalogue.ts';

/** A row that a dispatcher claimed. */
export interface Claim extends WorkPayload {
  /** Whether the previous attempt was started and never ended. */
  lost: boolean;
}

/** A row whose attempt a worker started. */
export interface BegunWork {
  recordId: Id;
  /** Consecutive failures before this attempt. */
  failures: number;
}

/** The kinds that have due rows, of those given. One query for all of them, which usually finds none. */
export async function dueKinds(database: Database, kinds: readonly QueueName[]): Promise<ReadonlySet<QueueName>> {
  const { rows } = await database.query<{ kind: QueueName }>({
    name: 'due-kinds',
    text: `SELECT kind FROM unnest($1::text[]) AS requested (kind) WHERE EXISTS (
       SELECT 1 FROM work WHERE work.kind = requested.kind AND state = 'pending' AND COALESCE(leased_until, due_at) <= now())`,
    values: [kinds],
  });
  return new Set(rows.map(({ kind }) => kind));
}

/**
 * Claims due rows of one kind, the longest due first, with a lease and one more attempt each. Skips rows that another
 * dispatcher is claiming, so that no attempt is handed over twice.
 */
export async function claimDue(
  database: Database,
  kind: QueueName,
  { limit, leaseMs }: { limit: number; leaseMs: number },
): Promise<Claim[]> {
  const { rows } = await database.query<Claim>({
    name: 'claim-due',
    text: `WITH due AS (
       SELECT id, begun FROM work
       WHERE kind = $1 AND state = 'pending' AND COALESCE(leased_until, due_at) <= now()
       ORDER BY COALESCE(leased_until, due_at) LIMIT $2 FOR UPDATE SKIP LOCKED)
     UPDATE work SET attempt = attempt + 1, due_at = 'infinity', leased_until = now() + $3 * interval '1 ms',
       begun = false, failures = failures + work.begun::integer,
       last_error = CASE WHEN work.begun THEN 'the attempt never answered' ELSE last_error END
     FROM due WHERE work.id = due.id
     RETURNING work.id AS "workId", record_id AS "recordId", attempt, due.begun AS lost`,
    values: [kind, limit, leaseMs],
  });
  return rows;
}

/**
 * Returns claims whose jobs could not be added; they are due in `delayMs`. Claims that a worker started anyway are
 * kept.
 */
export async function returnClaims(database: Database, claims: readonly Claim[], delayMs: number): Promise<void> {
  await database.query(
    `UPDATE work SET leased_until = NULL, due_at = LEAST(due_at, now() + $3 * interval '1 ms')
     FROM unnest($1::uuid[], $2::integer[]) AS claim (id, attempt)
     WHERE work.id = claim.id AND work.attempt = claim.attempt AND work.state = 'pending' AND NOT work.begun`,
    [claims.map(({ workId }) => workId), claims.map(({ attempt }) => attempt), delayMs],
  );
}

/**
 * Records the start of an attempt, with a lease of `leaseMs`. Undefined when a newer attempt exists, this one was
 * started before, or the work is done.
 */
export async function beginAttempt(
  database: Database,
  { workId, attempt }: Pick<WorkPayload, 'workId' | 'attempt'>,
  leaseMs: number,
): Promise<BegunWork | undefined> {
  const { rows } = await database.query<BegunWork>({
    name: 'begin-attempt',
    text: `UPDATE work SET begun = true, leased_until = now() + $3 * interval '1 ms'
     WHERE id = $1 AND attempt = $2 AND state = 'pending' AND NOT begun
     RETURNING record_id AS "recordId", failures`,
    values: [workId, attempt, leaseMs],
  });
  return rows[0];
}

type AttemptKey = Pick<WorkPayload, 'workId' | 'attempt'>;

const isCurrent = `id = $1 AND attempt = $2 AND state = 'pending' AND begun`;

/**
 * Records that the attempt finished the work.
 * @returns false when a newer attempt exists
 */
export async function recordDone(database: Database, { workId, attempt }: AttemptKey): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'record-done',
    text: `UPDATE work SET state = 'done', done_at = now(), leased_until = NULL, last_error = NULL WHERE ${isCurrent}`,
    values: [workId, attempt],
  });
  return rowCount === 1;
}

/** Records that the next attempt is due at `again`, or immediately if it was requested during this one. */
export async function recordAgain(database: Database, { workId, attempt }: AttemptKey, again: Date): Promise<boolean> {
  const { rowCount } = await database.query({
    name: 'record-again',
    text: `UPDATE work SET leased_until = NULL, begun = false, failures = 0, last_error = NULL, due_at = LEAST(due_at, $3)
     WHERE ${isCurrent}`,
    values: [workId, attempt, again],
  });
  return rowCount === 1;
}

/** Records that the attempt failed; the next one is due in `delayMs`. */
export async function recordFailure(
  database: Database,
  { workId, attempt }: AttemptKey,
  error: string,
  delayMs: number,
): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE work SET leased_until = NULL, begun = false, failures = failures + 1, last_error = $3,
       due_at = LEAST(due_at, now() + $4 * interval '1 ms')
     WHERE ${isCurrent}`,
    [workId, attempt, error, delayMs],
  );
  return rowCount === 1;
}

/** The rows of one kind, counted for metrics. */
export interface WorkCounts {
  kind: string;
  pending: number;
  due: number;
  /** How long the longest due row has been waiting, in seconds. */
  oldestDueSeconds: number;
}

export async function countWork(database: Database): Promise<WorkCounts[]> {
  const { rows } = await database.query<WorkCounts>(
    `SELECT kind, count(*)::integer AS pending,
       (count(*) FILTER (WHERE COALESCE(leased_until, due_at) <= now()))::integer AS due,
       COALESCE(max(extract(epoch FROM now() - COALESCE(leased_until, due_at)))
         FILTER (WHERE COALESCE(leased_until, due_at) <= now()), 0)::double precision AS "oldestDueSeconds"
     FROM work WHERE state = 'pending' GROUP BY kind`,
  );
  return rows;
}
