import pg from 'pg';
import { tlsName } from '../../runtime/host/service-address.ts';
import { parameterizeId, withoutEnd } from '../../runtime/domain/mark-done.ts';
import { eventBytesMax, eventIdBytesMax, type FoundEvent } from '../../runtime/records/function-events.ts';
import { markAll } from './mark-all.ts';
import { createPace, inPages } from './pages.ts';
import { SourceError, type OpenSource, type SourceRequest } from './source.ts';
import { defaultTimes, graceMs, type SqlTimes } from './sql-limits.ts';

/** Rows that are fetched at once, at most: each has a megabyte at most. */
const fetchedMax = 64;
/** Marks that are sent before the answer to the first one has come. */
const marksTogether = 50;
/** Planned for the first rows, since the reader stops when it has no more room. */
const tupleFraction = '0.001';

/** @param name of a statement that is kept parsed */
type Run = (text: string, values?: unknown[], name?: string) => Promise<pg.QueryResult<Record<string, string | null>>>;

/**
 * Rows of a query on a PostgreSQL database, each known by its column `id`, or else its first one. The query is read by a
 * cursor, some rows at a time, in a transaction that cannot write; a long table costs no more than what is taken of it,
 * and what is too large to be kept does not leave the server. Every statement goes by the extended protocol, which takes
 * one at a time, and under a time-out that is set again before each fetch, since a query may set its own.
 */
export function createPostgresSource(times: SqlTimes = defaultTimes): OpenSource {
  const { statementMs } = times;

  return async (request) => {
    const { settings } = request;
    const client = await connect(request, times);
    const run: Run = async (text, values = [], name) => {
      try {
        return await client.query({ text, values, queryMode: 'extended', ...(name && { name }) } as pg.QueryConfig);
      } catch (error) {
        throw sourceError(error, statementMs);
      }
    };
    const limit = () =>
      run(
        `SELECT pg_catalog.set_config('statement_timeout', $1, true), pg_catalog.set_config('cursor_tuple_fraction', $2, true)`,
        [String(statementMs), tupleFraction],
        'limit',
      );
    const pace = createPace(fetchedMax);
    const rows = async function* () {
      for (;;) {
        const count = pace.count();
        const [, { rows: fetched }] = await Promise.all([limit(), run(`FETCH ${count} FROM events`)]);
        const events = fetched.map(eventOf);
        yield events;
        if (events.length < count) return;
        pace.came(events.reduce((sum, { payload }) => sum + (payload?.length ?? eventBytesMax), 0));
      }
    };
    const end = () => run('ROLLBACK').catch(() => undefined);

    return {
      async *read() {
        await run('BEGIN TRANSACTION READ ONLY');
        try {
          await limit();
          await run(`DECLARE events NO SCROLL CURSOR FOR ${await eventsQuery(run, settings.query ?? '')}`);
          yield* inPages(rows());
        } finally {
          await end();
        }
      },
      taken: () => Promise.resolve(),
      markDone(ids) {
        const { text, parameters } = parameterizeId(settings.markDone ?? '', (n) => `$${n}`);
        return markAll(ids, {
          begin: async () => {
            await run('BEGIN');
            await limit();
          },
          mark: (id) =>
            run(
              text,
              Array.from({ length: parameters }, () => id),
              'mark',
            ),
          together: marksTogether,
          commit: () => run('COMMIT'),
          rollback: end,
          refusal: (error) => (error instanceof StatementError ? error.message : undefined),
        });
      },
      close: () => client.end().catch(() => undefined),
    };
  };
}

/** A statement that the server refused; the connection is as good as before. */
class StatementError extends SourceError {}

async function connect(
  { credentials, address }: SourceRequest,
  { statementMs, connectMs }: SqlTimes,
): Promise<pg.Client> {
  const { host, port, tls, username, password, database } = credentials;
  const client = new pg.Client({
    ...{ host: address, port, user: username, password, database, ssl: tls && tlsName(host) },
    application_name: 'svc-events',
    // A statement is sent while the one before it is under way.
    pipeline: true,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    query_timeout: statementMs + graceMs,
    idle_in_transaction_session_timeout: 60_000,
  });
  // Whatever breaks the connection, the next statement says it.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw sourceError(error, connectMs);
  }
  return client;
}

/** What the cursor reads: the id and the row as JSON, both as the database itself writes them; null is what is too large. */
async function eventsQuery(run: Run, query: string): Promise<string> {
  // On a line of its own, since the query may end in a comment.
  const wrapped = `(${withoutEnd(query)}\n) AS event`;
  const { fields } = await run(`SELECT * FROM ${wrapped} LIMIT 0`);
  const id = fields.find(({ name }) => name === 'id') ?? fields[0];
  if (!id) throw new SourceError('The query returns no columns; the first one, or "id", has to tell rows apart.');
  const column = `"${id.name.replaceAll('"', '""')}"`;
  // With an offset the rows are made into JSON once, and not for each place that names them.
  return `SELECT id, CASE WHEN pg_catalog.octet_length(payload) <= ${eventBytesMax} THEN payload END AS payload
    FROM (SELECT pg_catalog.left(event.${column}::text, ${eventIdBytesMax + 1}) AS id,
        pg_catalog.row_to_json(event)::text AS payload FROM ${wrapped} OFFSET 0) AS found`;
}

function eventOf({ id, payload }: Record<string, string | null>): FoundEvent {
  if (typeof id !== 'string') throw new SourceError('The query returns a row whose id is null.');
  return { id, payload: payload ?? undefined };
}

/** https://www.postgresql.org/docs/current/errcodes-appendix.html */
function sourceError(error: unknown, limitMs: number): SourceError {
  if (error instanceof SourceError) return error;
  const { message, code } = error as Error & { code?: string };
  if (error instanceof pg.DatabaseError) {
    if (code === '57014') return new StatementError(`The statement took longer than ${limitMs / 1000} s.`);
    // Connection, authorization, shutdown: the statement is not at fault.
    if (/^(08|28|3D|53|57P|58)/.test(code ?? ''))
      return new SourceError(`The service refused the function: ${message}.`);
    return new StatementError(`The database refused the statement: ${message}.`);
  }
  return new SourceError(`The service does not answer (${code ?? message}).`, { cause: error });
}
