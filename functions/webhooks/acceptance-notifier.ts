import type { Pool } from 'pg';
import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { announce } from '../../runtime/records/acceptance.ts';

/** Sends NOTIFY for accepted deployments shortly after their commit; senders do not wait for it (decision 0015). */
export interface AcceptanceNotifier {
  /** Queues the NOTIFY for a deployment that was accepted and superseded these. */
  add(superseded: readonly Id[]): void;
  /** Resolves when the queue is empty. */
  drain(): Promise<void>;
}

/** Delay in ms, so that the response is sent before the work starts, and several acceptances share one statement. */
const delayMs = 20;

/**
 * Sends one statement for all acceptances of the delay and of the previous statement's duration, because each statement
 * wakes every listening process. A statement that fails is logged and not repeated.
 */
export function createAcceptanceNotifier({
  pool,
  clock,
  log,
}: {
  pool: Pool;
  clock: Clock;
  log: Logger;
}): AcceptanceNotifier {
  let queue: Id[] | undefined;
  let sending: Promise<void> | undefined;

  const send = async () => {
    while (queue) {
      await clock.sleep(delayMs);
      const superseded = queue;
      queue = undefined;
      await announce(pool, superseded).catch((error: unknown) =>
        log.warn({ err: error }, 'NOTIFY for accepted deployments failed; the dispatcher finds them within a second'),
      );
    }
    sending = undefined;
  };

  return {
    add(superseded) {
      queue = [...(queue ?? []), ...superseded];
      sending ??= send();
    },
    drain: () => sending ?? Promise.resolve(),
  };
}
