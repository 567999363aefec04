import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import type { EventLoad } from '../../runtime/records/event-backlog.ts';

/** The same time-out as for reports of interceptors. */
const timeoutMs = 1_000;

/** The load by event sources, by the function's id. */
export type EventLoads = ReadonlyMap<Id, EventLoad>;

/**
 * Reads loads, one query at a time: a read that starts before an earlier one has ended waits for the same result.
 * The reader returns undefined on a failure or time-out, so that scaling by requests does not wait.
 */
export function createLoadReader(
  read: () => Promise<EventLoads>,
  { clock, log }: { clock: Clock; log: Logger },
): () => Promise<EventLoads | undefined> {
  let pending: Promise<EventLoads> | undefined;
  return async () => {
    pending ??= read().finally(() => (pending = undefined));
    const done = new AbortController();
    const limit = clock.sleep(timeoutMs, done.signal).then(() => {
      throw new Error(`no answer within ${timeoutMs} ms`);
    });
    try {
      return await Promise.race([pending, limit]);
    } catch (error) {
      log.warn({ err: error }, 'cannot count events');
      return undefined;
    } finally {
      done.abort();
    }
  };
}
