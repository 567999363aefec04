import pg from 'pg';
import type { Logger } from 'pino';
import { connectionSettings, type DatabaseAddress } from './connection.ts';

/** Either runs single statements; what needs a transaction takes a client. */
export type Database = pg.Pool | pg.ClientBase;

export interface PoolOptions extends DatabaseAddress {
  /** Shown in `pg_stat_activity`, such as `svc-workers`. */
  name?: string;
  /** Connections at most; default 10. */
  max?: number;
  /** Told of idle connections that break; they are replaced when needed. */
  log?: Logger;
}

/** A statement that waits longer for a row or table gives up, so that a writer that hangs stops nobody for long. */
const lockTimeoutMs = 5_000;
/** A transaction that goes silent while it holds locks loses its connection (design.md §6). */
const idleInTransactionMs = 5_000;
/** No statement of the platform needs longer. */
const statementTimeoutMs = 15_000;
/** For a server that has gone without a word: past the statement's own limit, this side gives up. */
const queryTimeoutMs = 20_000;

/**
 * A pool of connections; it connects when first used. A statement rejects after 15 s, or after 5 s of waiting for a lock;
 * a transaction that is idle for 5 s is ended by the server.
 */
export function createPool({ name, max = 10, log, ...address }: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...connectionSettings(address),
    max,
    ...(name !== undefined && { application_name: name }),
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: queryTimeoutMs,
  });
  // Unheard, it would end the process.
  pool.on('error', (error) => log?.warn({ err: error }, 'idle database connection lost'));
  return pool;
}

/** The server may end the connection between two statements; the next statement reports it. */
const ignore = () => undefined;

/**
 * Runs `work` in one transaction (read committed): commits when it resolves, rolls back when it throws. A rejection with
 * a connection error may hide a commit that succeeded; whoever retries has to be able to see that.
 */
export async function transaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  client.on('error', ignore);
  let broken: Error | undefined;
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((cause: unknown) => {
      broken = cause instanceof Error ? cause : new Error(String(cause));
    });
    throw error;
  } finally {
    client.off('error', ignore);
    client.release(broken);
  }
}
