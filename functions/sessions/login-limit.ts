import type { Clock } from '../../runtime/domain/clock.ts';

/** Attempts that one client has for one account within {@link windowMs}. */
const attempts = 10;
const windowMs = 15 * 60_000;
/** Bounds the memory that strangers can take; the oldest go first. */
const maxEntries = 10_000;

/** Slows down guessing of passwords. */
export interface LoginLimit {
  /** Counts an attempt before it is made, so that parallel ones count too. Seconds to wait, or 0 to go ahead. */
  take(account: string, client: string): number;
  /** A successful login clears the account's count for this client. */
  clear(account: string, client: string): void;
}

const keyOf = (account: string, client: string) => `${client}\n${account}`;

/** Counts in memory: each replica of console-api has its own count, and a restart forgets. */
export function createLoginLimit(clock: Clock): LoginLimit {
  const counts = new Map<string, { taken: number; endsAt: number }>();
  return {
    take(account, client) {
      const key = keyOf(account, client);
      const now = clock.monotonic();
      const found = counts.get(key);
      if (found && found.endsAt > now) {
        if (found.taken >= attempts) return Math.ceil((found.endsAt - now) / 1000);
        found.taken += 1;
        return 0;
      }
      counts.delete(key);
      counts.set(key, { taken: 1, endsAt: now + windowMs });
      const [oldest] = counts.keys();
      if (counts.size > maxEntries && oldest !== undefined) counts.delete(oldest);
      return 0;
    },
    clear(account, client) {
      counts.delete(keyOf(account, client));
    },
  };
}
