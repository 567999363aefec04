import pg from 'pg';
import type { Logger } from 'pino';
import { connectionSettings, type DatabaseAddress } from './connection.ts';

/** For single statements; a transaction needs a client. */
export type Database = pg.Pool | pg.ClientBase;

export interface PoolOptions extends DatabaseAddress {
  /** The name in `pg_stat_activity`, such as `svc-workers`. */
  name?: string;
  /** Maximum connections; default 10. */
  max?: number;
  /**
   * Connections that stay open when they are idle, with their prepared statements; others close after 10 s. Default 0. A
   * request at rest then needs no connection, which costs more than its statements.
   */
  min?: number;
  /**
   * Plans each prepared statement once for all values, and by index wherever there is one, as its tables will grow. For
   * short statements: planning one for its values takes as long as running it. Default: PostgreSQL chooses.
   */
  keepsPlans?: boolean;
  /** Logs idle connections that break; they are replaced when needed. */
  log?: Logger;
}

/** Time-out of waiting for a row or table lock, so that a writer that hangs does not block others for long. */
const lockTimeoutMs = 5_000;
/** A transaction that is idle for longer while it holds locks loses its connection. */
const idleInTransactionMs = 5_000;
/** Time-out of a statement; the platform's take far less. */
const statementTimeoutMs = 15_000;
/** Plans that are kept for all values; a page of a scan costs as much as a hundred pages of an index. */
const planOptions = '-c plan_cache_mode=force_generic_plan -c seq_page_cost=100';
/** Time-out on the client's side, above the statement's own, for a server that no longer responds. */
const queryTimeoutMs = 20_000;

/**
 * A connection pool that connects when first used. A statement rejects after 15 s, or after 5 s of waiting for a lock;
 * the server ends a transaction that is idle for 5 s.
 */
export function createPool({ name, max = 10, min = 0, keepsPlans = false, log, ...address }: PoolOptions): pg.Pool {
  const settings = connectionSettings(address);
  const pool = new pg.Pool({
    ...settings,
    ...(keepsPlans && { options: `${settings.options} ${planOptions}` }),
    max,
    min,
    ...(name !== undefined && { application_name: name }),
    lock_timeout: lockTimeoutMs,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    query_timeout: queryTimeoutMs,
  });
  // Without a listener, the error would end the process.
  pool.on('error', (error) => log?.warn({ err: error }, 'idle database connection lost'));
  return pool;
}

/** The server may end the connection between two statements; the next statement reports it. */
const ignore = () => undefined;

/**
 * Runs `work` in one transaction (read committed): commits when it resolves, rolls back when it throws. After a
 * connection error the commit may still have succeeded; a caller that retries must be able to detect that.
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
