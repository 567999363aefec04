import { createConnection, type Connection, type FieldPacket, type RowDataPacket } from 'mysql2';
import { AnswerTooLargeError, limitAnswers } from '../../runtime/services/answer-limit.ts';
import { mysqlStream, streamOfMysql } from '../../runtime/services/mysql-connection.ts';
import { parameterizeId, withoutEnd } from '../../runtime/domain/mark-done.ts';
import { eventBytesMax, type SourceEvent } from '../../runtime/domain/events.ts';
import { markAll } from './mark-all.ts';
import { toPages } from './pages.ts';
import { connectionFailure, SourceError, type OpenSource, type SourceRequest } from './source.ts';
import { defaultTimes, graceMs, tooMuch, type SqlTimes } from './sql-limits.ts';

/**
 * The rows of a query on a MySQL or MariaDB database, identified by the column `id` or else the first one. Neither server
 * keeps the order of a subquery, so the query runs unchanged and its rows are streamed; a reader that stops early closes
 * the connection, and so ends the query. Every statement is a prepared one, which prevents several in one text, and has a
 * time-out; the query runs in a read-only transaction.
 */
export function createMysqlSource(times: SqlTimes = defaultTimes): OpenSource {
  return async (request) => {
    const { settings } = request;
    let session: Session | undefined = await openSession(request, times);
    const connect = async () => (session ??= await openSession(request, times));
    const end = () => {
      session?.end();
      session = undefined;
    };
    const query = withoutEnd(settings.query ?? '');

    return {
      async *read(signal) {
        const { run, check, rows } = await connect();
        let complete = false;
        try {
          // On a line of its own, because the query may end in a comment. Refuses everything but a query without assignments.
          await check(`SELECT * FROM (${query}\n) AS event`);
          await run('START TRANSACTION READ ONLY');
          yield* toPages(rows(query, signal));
          await run('ROLLBACK');
          complete = true;
        } finally {
          if (!complete) end();
        }
      },
      confirm: () => Promise.resolve(),
      async markDone(ids) {
        const { run } = await connect();
        const { text, parameters } = parameterizeId(settings.markDone ?? '', () => '?');
        return markAll(ids, {
          begin: () => run('START TRANSACTION'),
          mark: (id) =>
            run(
              text,
              Array.from({ length: parameters }, () => id),
            ),
          commit: () => run('COMMIT'),
          rollback: () => run('ROLLBACK'),
          refusal: (error) => (error instanceof StatementError ? error.message : undefined),
        });
      },
      close: () => Promise.resolve(end()),
    };
  };
}

/** A statement that the server refused; the connection stays usable. */
class StatementError extends SourceError {}

type Row = Record<string, unknown>;

interface Session {
  /** Prepares a statement without running it. @throws StatementError for an invalid one */
  check: (text: string) => Promise<void>;
  run: (text: string, values?: string[]) => Promise<void>;
  /** Streams the rows of a query. */
  rows: (text: string, signal: AbortSignal) => AsyncIterable<readonly SourceEvent[]>;
  /** Closes the connection at once, during a statement too. */
  end: () => void;
}

async function openSession({ credentials, address }: SourceRequest, times: SqlTimes): Promise<Session> {
  const { host, port, tls, username, password, database } = credentials;
  const { statementMs, connectMs } = times;
  const limit = limitAnswers();
  const connection = createConnection({
    host,
    port,
    connectTimeout: connectMs,
    multipleStatements: false,
    stream: mysqlStream(address, port, limit),
    ...(username !== undefined && { user: username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    ...(tls && { ssl: { verifyIdentity: true } }),
    // Values as the database writes them; numbers that JSON cannot represent become text.
    dateStrings: true,
    supportBigNumbers: true,
    jsonStrings: true,
  });
  // A lost connection is reported by the next statement.
  connection.on('error', () => undefined);
  const statements = connection.promise();
  const fail = (error: unknown) => toSourceError(limit.error ?? error, statementMs);

  const run = async (sql: string, values: string[] = []) => {
    limit.reset();
    try {
      await (values.length === 0 && isTransactionControl(sql)
        ? statements.query({ sql, timeout: statementMs + graceMs })
        : statements.execute({ sql, values, timeout: statementMs + graceMs }));
    } catch (error) {
      throw fail(error);
    }
  };

  try {
    await statements.connect();
    if (tls) limit.watch(streamOfMysql(connection));
    await limitTime(statements, statementMs);
  } catch (error) {
    closeNow(connection);
    throw fail(error);
  }
  return {
    run,
    async check(sql) {
      limit.reset();
      try {
        await (await statements.prepare(sql)).close();
      } catch (error) {
        throw fail(error);
      }
    },
    async *rows(sql, signal) {
      limit.reset();
      // A row may be large, so that none is buffered ahead.
      const stream = connection.execute<RowDataPacket[]>({ sql }).stream({ highWaterMark: 1 });
      let idColumn = 'id';
      stream.once('fields', (fields: FieldPacket[]) => {
        if (!fields.some(({ name }) => name === 'id')) idColumn = fields[0]?.name ?? 'id';
      });
      const abort = () => stream.destroy(new SourceError('Reading the source took too long.'));
      const timer = setTimeout(abort, statementMs + graceMs);
      signal.addEventListener('abort', abort, { once: true });
      try {
        for await (const row of stream) {
          timer.refresh();
          limit.reset();
          yield [toEvent((row as Row)[idColumn], row as Row)];
        }
      } catch (error) {
        throw fail(error);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
      }
    },
    end: () => closeNow(connection),
  };
}

/** Whether it is one of the fixed statements that cannot be prepared. */
function isTransactionControl(sql: string): boolean {
  return /^(START TRANSACTION( READ ONLY)?|COMMIT|ROLLBACK)$/.test(sql);
}

/**
 * Sets the server's time-outs. MySQL limits only queries and the waiting for locks.
 * https://mariadb.com/docs/server/ha-and-performance/optimization-and-tuning/query-optimizations/aborting-statements,
 * https://dev.mysql.com/doc/refman/8.4/en/server-system-variables.html#sysvar_max_execution_time
 */
async function limitTime(statements: ReturnType<Connection['promise']>, statementMs: number): Promise<void> {
  const [rows] = await statements.query<RowDataPacket[]>('SELECT VERSION() AS version');
  const limit = /mariadb/i.test(String(rows[0]?.['version']))
    ? `max_statement_time = ${statementMs / 1000}`
    : `max_execution_time = ${statementMs}`;
  await statements.query(`SET SESSION ${limit}, SESSION innodb_lock_wait_timeout = ${Math.ceil(statementMs / 1000)}`);
}

/** Closes without waiting for the remaining rows of a running query, as `end()` would. */
function closeNow(connection: Connection): void {
  streamOfMysql(connection).destroy();
  connection.destroy();
}

function toEvent(id: unknown, row: Row): SourceEvent {
  if (id === null || id === undefined) throw new SourceError('The query returned a row without an id.');
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw new SourceError(
      'The id of a row must be a number or text. For a binary id, select HEX(id) AS id and use UNHEX({{id}}) in mark-done.',
    );
  }
  return { id: String(id), payload: payloadOf(row) };
}

/** The row as JSON, with bytes as Base64; undefined when it is too large for an event. */
function payloadOf(row: Row): string | undefined {
  const values = Object.entries(row);
  // Spares the conversion of rows that are too large before it.
  const bytes = values.reduce((sum, [, value]) => sum + (isBytes(value) ? value.length : 0), 0);
  if (bytes > eventBytesMax) return undefined;
  const encoded = values.map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString('base64') : value]);
  const payload = JSON.stringify(Object.fromEntries(encoded));
  return Buffer.byteLength(payload) > eventBytesMax ? undefined : payload;
}

function isBytes(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference */
const connectionErrors = new Set([1040, 1044, 1045, 1049, 1053, 1129, 1130, 1152, 1203, 1226, 1927, 4031, 4151]);
const timeOuts = new Set([1205, 1317, 1969, 3024]);

function toSourceError(error: unknown, limitMs: number): SourceError {
  if (error instanceof SourceError) return error;
  if (error instanceof AnswerTooLargeError) return tooMuch(error);
  const { message, code, errno, sqlState } = error as Error & { code?: string; errno?: number; sqlState?: string };
  if (code === 'PROTOCOL_SEQUENCE_TIMEOUT') return new SourceError(tooLong(limitMs));
  // Only errors of the server have a state.
  if (sqlState === undefined || errno === undefined) return connectionFailure(error);
  if (timeOuts.has(errno)) return new StatementError(tooLong(limitMs));
  if (connectionErrors.has(errno)) return new SourceError(`The service refused the connection: ${message}.`);
  return new StatementError(`The database refused the statement: ${message}.`);
}

function tooLong(limitMs: number): string {
  return `The statement took longer than ${limitMs / 1000} s.`;
}
