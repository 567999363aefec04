import type { Logger } from 'pino';
import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { recordTokenUse, type AccessToken } from '../../runtime/records/access-tokens.ts';

/** Records when access tokens were last used. */
export interface TokenUses {
  /** Returns at once; the time is written afterwards. */
  add(token: Pick<AccessToken, 'id' | 'lastUsedAt'>): void;
  /** Resolves when no write is in progress. */
  drain(): Promise<void>;
}

/** Uses are recorded at most this often, so that a busy token costs no write per request. */
const periodMs = 60_000;

/** Writes the last use of each token at most once a minute. A write that fails is logged; the next use repeats it. */
export function createTokenUses({ pool, clock, log }: { pool: Pool; clock: Clock; log: Logger }): TokenUses {
  const writes = new Map<Id, Promise<void>>();
  return {
    add({ id, lastUsedAt }) {
      const now = clock.now();
      const before = new Date(now.getTime() - periodMs);
      if (writes.has(id) || (lastUsedAt !== null && lastUsedAt > before)) return;
      const write = recordTokenUse(pool, id, now, before)
        .catch((error: unknown) => log.warn({ err: error, token: id }, 'the last use of a token was not recorded'))
        .finally(() => writes.delete(id));
      writes.set(id, write);
    },
    drain: async () => void (await Promise.all(writes.values())),
  };
}
