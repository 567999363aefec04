import { createConnection, type Connection, type FieldPacket, type RowDataPacket } from 'mysql2';
import { mysqlStream } from '../../runtime/host/service-address.ts';
import { parameterizeId, withoutEnd } from '../../runtime/domain/mark-done.ts';
import { eventBytesMax, type FoundEvent } from '../../runtime/records/function-events.ts';
import { markAll } from './mark-all.ts';
import { inPages } from './pages.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';
import { defaultTimes, graceMs, type SqlTimes } from './sql-limits.ts';

/**
 * Rows of a query on a MySQL or MariaDB database, each known by its column `id`, or else its first one. Neither server
 * keeps the order of a query that is part of another one, so the query runs as it is and its rows are read as they come;
 * a reader that has enough ends the connection, and with it the query. Every statement is a prepared one, of which there
 * is one at a time, under a time-out, and the query in a transaction that cannot write.
 */
export function createMysqlSource(times: SqlTimes = defaultTimes): OpenSource {
  return async (request) => {
    const { settings } = request;
    let session: Session | undefined = await openSession(request, times);
    const live = async () => (session ??= await openSession(request, times));
    const end = () => {
      session?.end();
      session = undefined;
    };
    const query = withoutEnd(settings.query ?? '');

    return {
      async *read(signal) {
        const { run, check, rows } = await live();
        let whole = false;
        try {
          // On a line of its own, since the query may end in a comment. What is no query, or sets something, is refused.
          await check(`SELECT * FROM (${query}\n) AS event`);
          await run('START TRANSACTION READ ONLY');
          yield* inPages(rows(query, signal));
          await run('ROLLBACK');
          whole = true;
        } finally {
          if (!whole) end();
        }
      },
      taken: () => Promise.resolve(),
      async markDone(ids) {
        const { run } = await live();
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

/** A statement that the server refused; the connection is as good as before. */
class StatementError extends SourceError {}

type Row = Record<string, unknown>;

interface Session {
  /** Has a statement prepared, which the server refuses where it is not a good one; it does not run. */
  check: (text: string) => Promise<void>;
  run: (text: string, values?: string[]) => Promise<void>;
  /** The rows of a query as they come. */
  rows: (text: string, signal: AbortSignal) => AsyncIterable<readonly FoundEvent[]>;
  /** Ends the connection at once, whatever it is about. */
  end: () => void;
}

async function openSession({ credentials, address }: SourceRequest, times: SqlTimes): Promise<Session> {
  const { host, port, tls, username, password, database } = credentials;
  const { statementMs, connectMs } = times;
  const connection = createConnection({
    ...{ host, port, connectTimeout: connectMs, multipleStatements: false },
    stream: mysqlStream(address, port),
    ...(username !== undefined && { user: username }),
    ...(password !== undefined && { password }),
    ...(database !== undefined && { database }),
    ...(tls && { ssl: { verifyIdentity: true } }),
    // As the database itself writes them; what a number of JSON cannot hold is text.
    ...{ dateStrings: true, supportBigNumbers: true, jsonStrings: true },
  });
  // Whatever breaks the connection, the next statement says it.
  connection.on('error', () => undefined);
  const statements = connection.promise();
  const fail = (error: unknown) => sourceError(error, statementMs);

  const run = async (sql: string, values: string[] = []) => {
    try {
      await (values.length === 0 && isPlain(sql)
        ? statements.query({ sql, timeout: statementMs + graceMs })
        : statements.execute({ sql, values, timeout: statementMs + graceMs }));
    } catch (error) {
      throw fail(error);
    }
  };

  try {
    await statements.connect();
    await limitTime(statements, statementMs);
  } catch (error) {
    hardEnd(connection);
    throw fail(error);
  }
  return {
    run,
    async check(sql) {
      try {
        await (await statements.prepare(sql)).close();
      } catch (error) {
        throw fail(error);
      }
    },
    async *rows(sql, signal) {
      // Rows come whole, however large they are: none is kept ahead of the one that is looked at.
      const stream = connection.execute<RowDataPacket[]>({ sql }).stream({ highWaterMark: 1 });
      let idColumn = 'id';
      stream.once('fields', (fields: FieldPacket[]) => {
        if (!fields.some(({ name }) => name === 'id')) idColumn = fields[0]?.name ?? 'id';
      });
      const giveUp = () => stream.destroy(new SourceError('Reading the source took too long.'));
      const timer = setTimeout(giveUp, statementMs + graceMs);
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        for await (const row of stream) {
          timer.refresh();
          yield [eventOf((row as Row)[idColumn], row as Row)];
        }
      } catch (error) {
        throw fail(error);
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      }
    },
    end: () => hardEnd(connection),
  };
}

/** What cannot be prepared, and has nothing of the function's in it. */
function isPlain(sql: string): boolean {
  return /^(START TRANSACTION( READ ONLY)?|COMMIT|ROLLBACK)$/.test(sql);
}

/**
 * The servers differ in what cuts a statement off: MySQL does so with queries only, and what waits for a lock.
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

/** A polite end would wait for all rows of the query that is under way. */
function hardEnd(connection: Connection): void {
  (connection as unknown as { stream: { destroy(): void } }).stream.destroy();
  connection.destroy();
}

function eventOf(id: unknown, row: Row): FoundEvent {
  if (id === null || id === undefined) throw new SourceError('The query returns a row whose id is null.');
  if (typeof id !== 'string' && typeof id !== 'number') {
    throw new SourceError('The id of a row has to be a number or text: write HEX(id) AS id, and UNHEX({{id}}).');
  }
  return { id: String(id), payload: payloadOf(row) };
}

/** The row as the function gets it, with bytes as Base64; undefined when that is too large. */
function payloadOf(row: Row): string | undefined {
  const values = Object.entries(row);
  // As JSON it is no smaller.
  const least = values.reduce((sum, [, value]) => sum + (isBytes(value) ? value.length : 0), 0);
  if (least > eventBytesMax) return undefined;
  const plain = values.map(([name, value]) => [name, Buffer.isBuffer(value) ? value.toString('base64') : value]);
  const payload = JSON.stringify(Object.fromEntries(plain));
  return Buffer.byteLength(payload) > eventBytesMax ? undefined : payload;
}

function isBytes(value: unknown): value is string | Buffer {
  return typeof value === 'string' || Buffer.isBuffer(value);
}

/** https://mariadb.com/docs/server/reference/error-codes/mariadb-error-code-reference */
const connectionErrors = new Set([1040, 1044, 1045, 1049, 1053, 1129, 1130, 1152, 1203, 1226, 1927, 4031, 4151]);
const timeOuts = new Set([1205, 1317, 1969, 3024]);

function sourceError(error: unknown, limitMs: number): SourceError {
  if (error instanceof SourceError) return error;
  const { message, code, errno, sqlState } = error as Error & { code?: string; errno?: number; sqlState?: string };
  if (code === 'PROTOCOL_SEQUENCE_TIMEOUT') return new SourceError(tooLong(limitMs));
  // Only the server itself gives a state.
  if (sqlState === undefined || errno === undefined) {
    return new SourceError(`The service does not answer (${code ?? message}).`, { cause: error });
  }
  if (timeOuts.has(errno)) return new StatementError(tooLong(limitMs));
  if (connectionErrors.has(errno)) return new SourceError(`The service refused the function: ${message}.`);
  return new StatementError(`The database refused the statement: ${message}.`);
}

function tooLong(limitMs: number): string {
  return `The statement took longer than ${limitMs / 1000} s.`;
}
