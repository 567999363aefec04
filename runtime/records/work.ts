import { newId, type Id } from '../domain/ids.ts';
import type { Database } from '../db/pool.ts';
import { regularWork, type QueueName } from '../queues/catalogue.ts';

/** Notifies the dispatcher, when the transaction commits, that work is due. */
export async function wakeDispatcher(database: Database): Promise<void> {
  await database.query(`SELECT pg_notify('work', '')`);
}

/**
 * Inserts work for a record, in the transaction that writes the record, so that neither exists without the other. The
 * dispatcher is notified at the commit.
 * @returns the row's id
 */
export async function insertWork(database: Database, kind: QueueName, recordId: Id): Promise<Id> {
  const id = newId();
  await database.query(`INSERT INTO work (id, kind, record_id) VALUES ($1, $2, $3)`, [id, kind, recordId]);
  await wakeDispatcher(database);
  return id;
}

/** Makes the work on a record due now with no failures, even if it is done, in progress or purged. */
export async function renewWork(database: Database, kind: QueueName, recordId: Id): Promise<void> {
  await database.query(
    `INSERT INTO work (id, kind, record_id) VALUES ($1, $2, $3)
     ON CONFLICT (kind, record_id) DO UPDATE SET state = 'pending', due_at = now(), failures = 0, last_error = NULL,
       done_at = NULL`,
    [newId(), kind, recordId],
  );
  await wakeDispatcher(database);
}

/** Inserts the {@link regularWork} that is missing, and makes what is done pending again. */
export async function ensureRegularWork(database: Database): Promise<void> {
  await database.query(
    `INSERT INTO work (id, kind, record_id)
     SELECT gen_random_uuid(), regular.kind, regular.record_id FROM unnest($1::text[], $2::uuid[]) AS regular (kind, record_id)
     ON CONFLICT (kind, record_id) DO UPDATE SET state = 'pending', done_at = NULL WHERE work.state = 'done'`,
    [regularWork.map(({ kind }) => kind), regularWork.map(({ recordId }) => recordId)],
  );
}

/** Marks the work on records as done: it is not handed over again, and the result of a running attempt is ignored. */
export async function finishWork(database: Database, kind: QueueName, recordIds: readonly Id[]): Promise<void> {
  if (recordIds.length === 0) return;
  await database.query({
    name: 'finish-work',
    text: `UPDATE work SET state = 'done', done_at = now(), leased_until = NULL
      WHERE kind = $1 AND record_id = ANY($2) AND state = 'pending'`,
    values: [kind, recordIds],
  });
}

/**
 * Makes the unfinished work on records due now; a running attempt is followed by another one. Work that is already due
 * is not written, and causes no notification.
 */
export async function expediteWork(database: Database, kind: QueueName, recordIds: readonly Id[]): Promise<void> {
  if (recordIds.length === 0) return;
  const { rowCount } = await database.query(
    `UPDATE work SET due_at = now() WHERE kind = $1 AND record_id = ANY($2) AND state = 'pending' AND due_at > now()`,
    [kind, recordIds],
  );
  if (rowCount) await wakeDispatcher(database);
}

/**
 * Makes the work on an app's active deployments due now, because what it waits for has happened. A running attempt is
 * followed by another one, because it may have read an older state.
 * @returns the number of due rows
 */
export async function nudgeRollouts(database: Database, workloadId: Id): Promise<number> {
  const { rowCount } = await database.query(
    `UPDATE work SET due_at = LEAST(due_at, now()) FROM deployments
     WHERE work.kind = 'rollouts' AND work.record_id = deployments.id AND work.state = 'pending'
       AND deployments.workload_id = $1 AND deployments.ended_at IS NULL`,
    [workloadId],
  );
  if (rowCount) await wakeDispatcher(database);
  return rowCount ?? 0;
}
