import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { clientNetwork } from '../../runtime/domain/address.ts';
import type { Clock } from '../../runtime/domain/clock.ts';

/** Attempts within {@link windowMs}: of one client for one account, of one client, and of unknown clients for one account. */
const limits = { pair: 10, client: 100, account: 100 };
const windowMs = 15 * 60_000;
/** How long a client is known to an account after a sign-in. */
const knownMs = 30 * 24 * 3_600_000;
/** Maximum number of rows; those with the fewest attempts are deleted first. */
const maxRows = 100_000;
/** Attempts between two checks of {@link maxRows}. */
const trimEvery = 500;

/**
 * Limits password guessing. The counters are in PostgreSQL, shared by all replicas. Users cannot lock out others: rejected
 * attempts do not count for other clients, and a client that has signed in to an account before is limited only by its own
 * attempts for that account.
 */
export interface LoginLimit {
  /** Counts an attempt before it is made, so that parallel attempts count too. @returns seconds to wait, or 0 */
  take(account: string, client: string): Promise<number>;
  /** After a successful sign-in: removes its attempt, and makes the client known to the account. */
  clear(account: string, client: string): Promise<void>;
}

/** @param maximum number of rows; default 100,000 */
export function createLoginLimit({
  pool,
  clock,
  maximum = maxRows,
}: {
  pool: Pool;
  clock: Clock;
  maximum?: number;
}): LoginLimit {
  let takes = 0;

  const countAttempt = async (key: Buffer, limit: number, now: Date): Promise<number> => {
    const { attempts, endsAt } = await count(pool, key, limit, now, new Date(now.getTime() + windowMs));
    return attempts > limit ? Math.max(1, Math.ceil((endsAt.getTime() - now.getTime()) / 1000)) : 0;
  };

  return {
    async take(account, client) {
      const now = clock.now();
      const keys = keysOf(account, client);
      if (takes++ % trimEvery === 0) await trim(pool, now, maximum);
      const pairWaitSeconds = await countAttempt(keys.pair, limits.pair, now);
      if (pairWaitSeconds > 0 || (await isKnown(pool, keys.known, now))) return pairWaitSeconds;
      return (await countAttempt(keys.client, limits.client, now)) || countAttempt(keys.account, limits.account, now);
    },
    async clear(account, client) {
      const now = clock.now();
      const keys = keysOf(account, client);
      if (!(await isKnown(pool, keys.known, now))) await undoAttempt(pool, [keys.client, keys.account]);
      await makeKnown(pool, keys, new Date(now.getTime() + knownMs));
    },
  };
}

type Keys = Record<'pair' | 'client' | 'account' | 'known', Buffer>;

function keysOf(account: string, address: string): Keys {
  const client = clientNetwork(address);
  const key = (...parts: string[]) => hash('sha256', parts.join('\n'), 'buffer');
  return {
    pair: key('pair', client, account),
    client: key('client', client),
    account: key('account', account),
    known: key('known', client, account),
  };
}

async function count(pool: Pool, key: Buffer, limit: number, now: Date, endsAt: Date) {
  const { rows } = await pool.query<{ attempts: number; endsAt: Date }>(
    `INSERT INTO login_attempts AS a (key, attempts, ends_at) VALUES ($1, 1, $4)
     ON CONFLICT (key) DO UPDATE SET
       attempts = CASE WHEN a.ends_at > $3 THEN least(a.attempts, $2) + 1 ELSE 1 END,
       ends_at = CASE WHEN a.ends_at > $3 THEN a.ends_at ELSE excluded.ends_at END
     RETURNING attempts, ends_at AS "endsAt"`,
    [key, limit, now, endsAt],
  );
  return rows[0] ?? { attempts: 1, endsAt };
}

async function isKnown(pool: Pool, key: Buffer, now: Date): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT 1 FROM login_attempts WHERE key = $1 AND ends_at > $2', [key, now]);
  return rowCount === 1;
}

async function undoAttempt(pool: Pool, keys: Buffer[]): Promise<void> {
  for (const key of keys)
    await pool.query('UPDATE login_attempts SET attempts = attempts - 1 WHERE key = $1 AND attempts > 0', [key]);
}

async function makeKnown(pool: Pool, { known, pair }: Keys, endsAt: Date): Promise<void> {
  await pool.query('DELETE FROM login_attempts WHERE key = $1', [pair]);
  // A high count, so that it is deleted last.
  await pool.query(
    `INSERT INTO login_attempts (key, attempts, ends_at) VALUES ($1, $2, $3)
     ON CONFLICT (key) DO UPDATE SET ends_at = excluded.ends_at`,
    [known, limits.account + 1, endsAt],
  );
}

async function trim(pool: Pool, now: Date, maximum: number): Promise<void> {
  await pool.query('DELETE FROM login_attempts WHERE ends_at <= $1', [now]);
  await pool.query(
    `DELETE FROM login_attempts WHERE key IN
       (SELECT key FROM login_attempts ORDER BY attempts DESC, ends_at DESC, key OFFSET $1)`,
    [maximum],
  );
}
