import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { HeadStart } from './exchange.ts';
import { createRecentCounts } from './recent-counts.ts';
import { createTurns } from './turns.ts';

/**
 * Requests with a body of this many bytes or more, or of unknown length, begin one in each turn of the event loop, and so do
 * connections end that were not read to their end. When a client sends hundreds at once, each costs a millisecond or two,
 * which all other requests would wait for.
 */
const largeBytes = 64 * 1024;
const perTurn = 1;

/**
 * With more uploads to a Service in progress than this, the pod gets the head of a further one first, and time to refuse it. Below, head
 * and body are sent together: no upload waits for an answer that does not come.
 */
const togetherMax = 32;
const headStartMs = 1_000;
/**
 * How long an upload whose body was not read to its end counts after its answer. A client whose uploads are refused within
 * milliseconds never has many in progress, and yet each would cost the pod and this process a part of its body.
 */
const unreadMs = 2_000;

/** What large uploads share, so that hundreds of them at once do not hold up other requests. */
export interface Uploads {
  isLarge(length: number | undefined): boolean;
  /** Runs work of an upload in one of the next turns of the event loop. */
  takeTurn(work: () => void): void;
  /**
   * Counts an upload for a Service until its response is closed, and for two seconds more if its body was not read to its
   * end. Each Service has its own count, so that those that never end at one app do not delay the others.
   * @returns undefined while the Service has few uploads
   */
  begin(response: ServerResponse, service: string): HeadStart | undefined;
}

export function createUploads(clock: Clock): Uploads {
  const takeTurn = createTurns(perTurn);
  /** By Service. A request that goes to another pod counts once. */
  const inProgress = new Map<string, Set<ServerResponse>>();
  const unread = createRecentCounts({ clock, ms: unreadMs, max: togetherMax });
  return {
    isLarge: (length) => (length ?? Infinity) >= largeBytes,
    takeTurn,
    begin(response, service) {
      const responses = inProgress.get(service) ?? new Set();
      if (!response.closed && !responses.has(response)) {
        inProgress.set(service, responses.add(response));
        response.once('close', () => {
          responses.delete(response);
          if (responses.size === 0 && inProgress.get(service) === responses) inProgress.delete(service);
          if (!response.req.complete) unread.add(service);
        });
      }
      if (responses.size + unread.of(service) <= togetherMax) return undefined;
      return async (signal) => {
        await clock.sleep(headStartMs, signal);
        await new Promise<void>(takeTurn);
      };
    },
  };
}
