import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { announce } from '../../runtime/records/deployments.ts';

/** Tells of what was accepted, soon after its commit; nobody who sent it waits for that (decision 0015). */
export interface Announcements {
  /** A deployment was accepted and superseded these. */
  add(superseded: readonly Id[]): void;
  /** Resolves once everything is told that was added. */
  done(): Promise<void>;
}

/** Long enough for the answer to be on its way before the work begins, and for others to come; nobody sees the delay. */
const gatherMs = 20;

/**
 * One statement tells of all that came in a moment, and while the one before was under way: every one of them wakes the
 * processes that listen. One that fails is logged and forgotten.
 */
export function createAnnouncements({ pool, clock, log }: { pool: Pool; clock: Clock; log: Logger }): Announcements {
  let untold: Id[] | undefined;
  let telling: Promise<void> | undefined;

  const tell = async () => {
    while (untold) {
      await clock.sleep(gatherMs);
      const superseded = untold;
      untold = undefined;
      await announce(pool, superseded).catch((error: unknown) =>
        log.warn({ err: error }, 'acceptances were not announced; they are found a second later'),
      );
    }
    telling = undefined;
  };

  return {
    add(superseded) {
      untold = [...(untold ?? []), ...superseded];
      telling ??= tell();
    },
    done: () => telling ?? Promise.resolve(),
  };
}
