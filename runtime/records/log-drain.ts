import type { Database } from '../db/pool.ts';
import type { Id } from '../domain/ids.ts';
import type { LogDrainFormat, logDrainTestStates } from '../domain/log-drain.ts';
import { logDrainId } from '../queues/catalogue.ts';

/** The log drain of the installation. */
export interface LogDrain {
  url: string;
  format: LogDrainFormat;
  networks: string[];
  headerNames: string[];
  /** Sealed; null without headers. */
  headers: string | null;
  /** Where the next page of the log store begins; null before the first. */
  position: string | null;
  sentLines: number;
  refusedLines: number;
  deletedLines: number;
  pendingLines: number;
  lastSentAt: Date | null;
  lastLineAt: Date | null;
  droppedAt: Date | null;
  failures: number;
  failingSince: Date | null;
  error: string | null;
  testId: Id | null;
  testState: (typeof logDrainTestStates)[number] | null;
  testError: string | null;
  testAt: Date | null;
  createdAt: Date;
  updatedAt: Date;
}

const columns = `url, format, networks, header_names AS "headerNames", headers, position,
  sent_lines::double precision AS "sentLines", refused_lines::double precision AS "refusedLines",
  deleted_lines::double precision AS "deletedLines", pending_lines::double precision AS "pendingLines",
  last_sent_at AS "lastSentAt", last_line_at AS "lastLineAt", dropped_at AS "droppedAt", failures,
  failing_since AS "failingSince", error, test_id AS "testId", test_state AS "testState", test_error AS "testError",
  test_at AS "testAt", created_at AS "createdAt", updated_at AS "updatedAt"`;

export async function findLogDrain(database: Database): Promise<LogDrain | undefined> {
  const { rows } = await database.query<LogDrain>({
    name: 'find-log-drain',
    text: `SELECT ${columns} FROM log_drains WHERE id = $1`,
    values: [logDrainId],
  });
  return rows[0];
}

/** Writes the settings. A drain that exists continues where it is; its failures and its test were those of the settings before. */
export async function setLogDrain(
  database: Database,
  {
    url,
    format,
    networks,
    headerNames,
    headers,
  }: Pick<LogDrain, 'url' | 'format' | 'networks' | 'headerNames' | 'headers'>,
): Promise<LogDrain> {
  const { rows } = await database.query<LogDrain>(
    `INSERT INTO log_drains (id, url, format, networks, header_names, headers) VALUES ($1, $2, $3, $4, $5, $6)
     ON CONFLICT (id) DO UPDATE SET url = $2, format = $3, networks = $4, header_names = $5, headers = $6,
       failures = 0, failing_since = NULL, error = NULL,
       test_id = NULL, test_state = NULL, test_error = NULL, test_at = NULL, updated_at = now()
     RETURNING ${columns}`,
    [logDrainId, url, format, networks, headerNames, headers],
  );
  const [row] = rows;
  if (!row) throw new Error('nothing was written');
  return row;
}

/** @returns the drain that was deleted */
export async function deleteLogDrain(database: Database): Promise<LogDrain | undefined> {
  const { rows } = await database.query<LogDrain>(`DELETE FROM log_drains WHERE id = $1 RETURNING ${columns}`, [
    logDrainId,
  ]);
  return rows[0];
}

/** Requests a test line, which replaces the one before. */
export async function requestLogDrainTest(database: Database, testId: Id): Promise<LogDrain | undefined> {
  const { rows } = await database.query<LogDrain>(
    `UPDATE log_drains SET test_id = $2, test_state = 'pending', test_error = NULL, test_at = now() WHERE id = $1
     RETURNING ${columns}`,
    [logDrainId, testId],
  );
  return rows[0];
}

/** Records the result of a test. @param error undefined when the line was delivered */
export async function recordLogDrainTest(database: Database, testId: Id, error: string | undefined): Promise<void> {
  await database.query(
    `UPDATE log_drains SET test_state = $3, test_error = $4, test_at = now() WHERE id = $1 AND test_id = $2`,
    [logDrainId, testId, error === undefined ? 'delivered' : 'failed', error ?? null],
  );
}

/** What became of one page. */
export interface DrainedPage {
  /** Where it began: a page that another attempt has recorded is not counted twice. */
  before: string | null;
  position: string;
  sent: number;
  refused: number;
  deleted: number;
  pending: number;
  lastLineAt: Date | undefined;
  /** Why lines were refused. */
  error: string | undefined;
}

/** Records a page, which ends a series of failures. @returns false for a page that was recorded before */
export async function recordDrainedPage(database: Database, page: DrainedPage): Promise<boolean> {
  const { before, position, sent, refused, deleted, pending, lastLineAt, error } = page;
  const { rowCount } = await database.query({
    name: 'record-drained-page',
    text: `UPDATE log_drains SET position = $3, sent_lines = sent_lines + $4, refused_lines = refused_lines + $5,
       deleted_lines = deleted_lines + $6, pending_lines = $7, last_line_at = COALESCE($8, last_line_at),
       last_sent_at = CASE WHEN $4 > 0 THEN now() ELSE last_sent_at END,
       dropped_at = CASE WHEN $5 + $6 > 0 THEN now() ELSE dropped_at END,
       failures = 0, failing_since = NULL, error = $9
     WHERE id = $1 AND position IS NOT DISTINCT FROM $2`,
    values: [logDrainId, before, position, sent, refused, deleted, pending, lastLineAt ?? null, error ?? null],
  });
  return rowCount === 1;
}

/** Records a failure, after which the same page is sent again. */
export async function recordDrainFailure(database: Database, error: string, pending?: number): Promise<void> {
  await database.query(
    `UPDATE log_drains SET failures = failures + 1, failing_since = COALESCE(failing_since, now()), error = $2,
       pending_lines = COALESCE($3, pending_lines) WHERE id = $1`,
    [logDrainId, error, pending ?? null],
  );
}
