import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { clientNetwork } from '../../runtime/domain/address.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { isInternalAddress } from '../../runtime/domain/network.ts';

/** Attempts that are allowed at once, and the seconds after which one more is allowed. */
interface Rate {
  burst: number;
  everySeconds: number;
}

/** In all, about a thousand guesses a day of one client for one account, and ten thousand of all strangers. */
const rates = {
  /** Of one client for one account. */
  pair: { burst: 10, everySeconds: 90 },
  /** Of one client, whatever the account. */
  client: { burst: 100, everySeconds: 9 },
  /** Of all clients for one account. */
  account: { burst: 100, everySeconds: 9 },
  /** Of a device or a session for its own account. */
  own: { burst: 10, everySeconds: 30 },
} as const satisfies Record<string, Rate>;

/** An address inside the network may stand for many clients: of an office, or of an ingress that hides all of them. */
const internalFactor = 10;
/** Maximum number of rows; those with the fewest attempts are deleted first. */
const maxRows = 100_000;
/** Attempts between two checks of {@link maxRows}. */
const trimEvery = 500;

/** Who tries a password: a stranger at an address, or the id of a device or session that belongs to the account. */
export type Guesser = { client: string } | { own: string };

/**
 * Slows down password guessing: after some attempts at once, one is allowed every few seconds. The counts are in
 * PostgreSQL, shared by all replicas. Strangers cannot lock out a user: a device that has signed in to the account before
 * is limited by its own attempts only.
 */
export interface LoginLimit {
  /** Counts an attempt before it is made, so that parallel attempts count too. @returns seconds to wait, or 0 */
  take(account: string, guesser: Guesser): Promise<number>;
  /** After a success: removes its attempt, and the wrong ones of this guesser for the account. */
  clear(account: string, guesser: Guesser): Promise<void>;
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
  return {
    async take(account, guesser) {
      const now = clock.now();
      if (takes++ % trimEvery === 0) await trim(pool, now, maximum);
      for (const bucket of bucketsOf(account, guesser)) {
        const wait = await takeOne(pool, bucket, now);
        if (wait > 0) return wait;
      }
      return 0;
    },
    async clear(account, guesser) {
      const [own, ...shared] = bucketsOf(account, guesser);
      if (own) await pool.query('DELETE FROM login_attempts WHERE key = $1', [own.key]);
      for (const { key, everySeconds } of shared) {
        await pool.query(
          `UPDATE login_attempts SET ends_at = ends_at - make_interval(secs => $2), attempts = greatest(attempts - 1, 0)
           WHERE key = $1`,
          [key, everySeconds],
        );
      }
    },
  };
}

interface Bucket extends Rate {
  key: Buffer;
}

/** The buckets that an attempt takes from, the guesser's own one first. */
function bucketsOf(account: string, guesser: Guesser): Bucket[] {
  const bucket = (rate: Rate, ...parts: string[]) => ({ ...rate, key: hash('sha256', parts.join('\n'), 'buffer') });
  if ('own' in guesser) return [bucket(rates.own, 'own', guesser.own, account)];
  const client = clientNetwork(guesser.client);
  const factor = isInternalAddress(guesser.client) ? internalFactor : 1;
  const ofClient = ({ burst, everySeconds }: Rate) => ({ burst: burst * factor, everySeconds: everySeconds / factor });
  return [
    bucket(ofClient(rates.pair), 'pair', client, account),
    bucket(ofClient(rates.client), 'client', client),
    bucket(rates.account, 'account', account),
  ];
}

/** Takes one attempt (GCRA): `ends_at` is the time at which all attempts are available again. @returns seconds to wait, or 0 */
async function takeOne(pool: Pool, { key, burst, everySeconds }: Bucket, now: Date): Promise<number> {
  const { rowCount } = await pool.query(
    `INSERT INTO login_attempts AS a (key, attempts, ends_at) VALUES ($1, 1, $2::timestamptz + make_interval(secs => $3))
     ON CONFLICT (key) DO UPDATE SET
       attempts = ceil(extract(epoch FROM greatest(a.ends_at, $2) - $2) / $3) + 1,
       ends_at = greatest(a.ends_at, $2) + make_interval(secs => $3)
     WHERE a.ends_at <= $2::timestamptz + make_interval(secs => $3 * ($4 - 1))`,
    [key, now, everySeconds, burst],
  );
  if (rowCount === 1) return 0;
  const { rows } = await pool.query<{ wait: number }>(
    'SELECT extract(epoch FROM ends_at - $2)::float8 - $3 * ($4 - 1) AS wait FROM login_attempts WHERE key = $1',
    [key, now, everySeconds, burst],
  );
  return Math.max(1, Math.ceil(rows[0]?.wait ?? 0));
}

async function trim(pool: Pool, now: Date, maximum: number): Promise<void> {
  await pool.query('DELETE FROM login_attempts WHERE ends_at <= $1', [now]);
  await pool.query(
    `DELETE FROM login_attempts WHERE key IN
       (SELECT key FROM login_attempts ORDER BY attempts DESC, ends_at DESC, key OFFSET $1)`,
    [maximum],
  );
}
