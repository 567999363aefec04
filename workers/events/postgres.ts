import pg from 'pg';
import { tlsName } from '../../runtime/services/tls-name.ts';
import { AnswerTooLargeError, limitAnswers, type AnswerLimit } from '../../runtime/services/answer-limit.ts';
import { closePostgresClient, createPostgresClient } from '../../runtime/services/postgres-connection.ts';
import { parameterizeId, withoutEnd } from '../../runtime/domain/mark-done.ts';
import { eventBytesMax, eventIdBytesMax, type SourceEvent } from '../../runtime/domain/events.ts';
import { markAll } from './mark-all.ts';
import { createBatchSize, toPages } from './pages.ts';
import { connectionFailure, SourceError, unreadable, type OpenSource, type SourceRequest } from './source.ts';
import { defaultTimes, graceMs, tooMuch, type SqlTimes } from './sql-limits.ts';

/** Maximum rows of one FETCH; each has up to a megabyte, and the server may send as much in one answer. */
const fetchMax = 16;
/** Maximum marks in flight. */
const marksInFlight = 50;
/** Makes the planner optimize for the first rows, because the reader often stops early. */
const tupleFraction = '0.001';

/** @param name of a statement that stays prepared */
type Run = (text: string, values?: unknown[], name?: string) => Promise<pg.QueryResult<Record<string, string | null>>>;

/**
 * The rows of a query on a PostgreSQL database, identified by the column `id` or else the first one. A cursor reads the
 * query in a read-only transaction, so that a long table costs only the rows that are read; a row that is too large for
 * an event does not leave the server. Every statement uses the extended protocol, which allows one statement in a text.
 * Its time-out is set again before each fetch, because a query can set its own.
 */
export function createPostgresSource(times: SqlTimes = defaultTimes): OpenSource {
  const { statementMs } = times;

  return async (request) => {
    const { settings } = request;
    const limit = limitAnswers();
    const client = await connect(request, times, limit);
    const run: Run = async (text, values = [], name) => {
      limit.reset();
      try {
        return await client.query({ text, values, queryMode: 'extended', ...(name && { name }) } as pg.QueryConfig);
      } catch (error) {
        throw toSourceError(limit.error ?? error, statementMs);
      }
    };
    const limitTime = () =>
      run(
        `SELECT pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('cursor_tuple_fraction', $2, true)`,
        [String(statementMs), tupleFraction],
        'limit',
      );
    const batch = createBatchSize(fetchMax);
    const rows = async function* () {
      for (;;) {
        const count = batch.count();
        const [, { rows: records }] = await Promise.all([limitTime(), run(`FETCH ${count} FROM events`)]);
        const events = records.map(toEvent);
        yield events;
        if (events.length < count) return;
        batch.record(events.reduce((sum, { payload }) => sum + (payload?.length ?? eventBytesMax), 0));
      }
    };
    const rollback = () => run('ROLLBACK').catch(() => undefined);

    return {
      async *read() {
        await run('BEGIN TRANSACTION READ ONLY');
        try {
          await limitTime();
          await run(`DECLARE events NO SCROLL CURSOR FOR ${await eventsQuery(run, settings.query ?? '')}`);
          yield* toPages(rows());
        } finally {
          await rollback();
        }
      },
      confirm: () => Promise.resolve(),
      markDone(ids) {
        const { text, parameters } = parameterizeId(settings.markDone ?? '', (n) => `$${n}`);
        return markAll(ids, {
          begin: async () => {
            await run('BEGIN');
            await limitTime();
          },
          mark: (id) =>
            run(
              text,
              Array.from({ length: parameters }, () => id),
              'mark',
            ),
          concurrency: marksInFlight,
          commit: () => run('COMMIT'),
          rollback,
          refusal: (error) => (error instanceof StatementError ? error.message : undefined),
        });
      },
      close: () => Promise.resolve(closePostgresClient(client)),
    };
  };
}

/** A statement that the server refused; the connection stays usable. */
class StatementError extends SourceError {}

async function connect(
  { credentials, address }: SourceRequest,
  { statementMs, connectMs }: SqlTimes,
  limit: AnswerLimit,
): Promise<pg.Client> {
  const { host, port, tls, username, password, database } = credentials;
  const client = createPostgresClient(
    {
      host: address,
      port,
      user: username,
      password,
      database,
      ssl: tls && tlsName(host),
      application_name: 'svc-events',
      // Sends a statement before the previous one ended.
      pipeline: true,
      connectionTimeoutMillis: connectMs,
      statement_timeout: statementMs,
      query_timeout: statementMs + graceMs,
      idle_in_transaction_session_timeout: 60_000,
    },
    limit,
  );
  try {
    await client.connect();
  } catch (error) {
    closePostgresClient(client);
    throw toSourceError(limit.error ?? error, connectMs);
  }
  return client;
}

/** Wraps the query to return the id and the row as JSON, both as PostgreSQL writes them; null for a row that is too large. */
async function eventsQuery(run: Run, query: string): Promise<string> {
  // On a line of its own, because the query may end in a comment.
  const wrapped = `(${withoutEnd(query)}\n) AS event`;
  const { fields } = await run(`SELECT * FROM ${wrapped} LIMIT 0`);
  const id = fields.find(({ name }) => name === 'id') ?? fields[0];
  if (!id)
    throw new SourceError('The query returns no columns. It must return a unique "id", or a unique first column.');
  const column = `"${id.name.replaceAll('"', '""')}"`;
  // OFFSET 0 keeps the planner from converting each row to JSON twice.
  return `SELECT id, CASE WHEN pg_catalog.octet_length(payload) <= ${eventBytesMax} THEN payload END AS payload
    FROM (SELECT pg_catalog.left(event.${column}::text, ${eventIdBytesMax + 1}) AS id,
        pg_catalog.row_to_json(event)::text AS payload FROM ${wrapped} OFFSET 0) AS rows`;
}

function toEvent({ id, payload }: Record<string, string | null>): SourceEvent {
  if (typeof id !== 'string') throw new SourceError('The query returned a row without an id.');
  return { id, payload: payload ?? undefined };
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
function toSourceError(error: unknown, limitMs: number): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof AnswerTooLargeError) return tooMuch(error);
  const { message, code } = error as Error & { code?: string };
  if (error instanceof pg.DatabaseError) {
    // An error that the server sent has a code; the others are the client's own about what it received.
    if (code === undefined) return new SourceError(unreadable, { cause: error });
    if (code === '57014') return new StatementError(`The statement took longer than ${limitMs / 1000} s.`);
    // Errors of the connection, authorization or shutdown, not of the statement.
    if (/^(08|28|3D|53|57P|58)/.test(code)) return new SourceError(`The service refused the connection: ${message}.`);
    return new StatementError(`The database refused the statement: ${message}.`);
  }
  return connectionFailure(error);
}
