import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** Records when access tokens or sessions were last used. */
export interface LastUses {
  /** Returns at once; the time is written afterwards. */
  add(used: { id: Id; lastUsedAt: Date | null }): void;
  /** Resolves when no write is in progress. */
  drain(): Promise<void>;
}

/** Uses are recorded at most this often, so that a busy token costs no write per request. */
const periodMs = 60_000;

/**
 * Writes the last use of each token or session at most once a minute. A write that fails is logged; the next use repeats
 * it.
 * @param options.record writes a use, unless one since `before` is stored
 */
export function createLastUses({
  clock,
  log,
  record,
}: {
  clock: Clock;
  log: Logger;
  record: (id: Id, at: Date, before: Date) => Promise<void>;
}): LastUses {
  const writes = new Map<Id, Promise<void>>();
  return {
    add({ id, lastUsedAt }) {
      const now = clock.now();
      const before = new Date(now.getTime() - periodMs);
      if (writes.has(id) || (lastUsedAt !== null && lastUsedAt > before)) return;
      const write = record(id, now, before)
        .catch((error: unknown) => log.warn({ err: error, id }, 'the last use of a token or session was not recorded'))
        .finally(() => writes.delete(id));
      writes.set(id, write);
    },
    drain: async () => void (await Promise.all(writes.values())),
  };
}
