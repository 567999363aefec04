import type { Clock } from '../../runtime/domain/clock.ts';
import type { Endpoints } from './endpoints.ts';
import { functionBusy, RequestFailure } from './failure.ts';
import { waitForRelease } from './held-request.ts';
import type { Target } from './routes.ts';

export interface RequestQueueOptions {
  endpoints: Pick<Endpoints, 'onChange'>;
  clock: Clock;
  /** Maximum number of requests that wait for one function; further requests get 503. */
  queueMax: number;
  /** Maximum wait of a request, counted from its arrival. */
  holdMs: number;
}

/** Holds requests while every pod of their function is at its concurrency limit. */
export interface RequestQueue {
  start(): void;
  stop(): void;
  /**
   * Resolves, first in, first out, when a pod may have room. The caller then has to look for a pod itself.
   * @throws RequestFailure after `holdMs` or when the queue is full; the signal's reason when it aborts
   */
  wait(target: Target, arrivedAt: number, signal: AbortSignal): Promise<void>;
  /** Releases one waiting request, because another request of the function ended. */
  next(functionId: string): void;
  /** The number of waiting requests, over all functions. */
  waiting(): number;
}

interface Queue {
  target: Target;
  waiters: Set<() => void>;
}

export function createRequestQueue({ endpoints, clock, queueMax, holdMs }: RequestQueueOptions): RequestQueue {
  const queues = new Map<string, Queue>();
  let unsubscribe: (() => void) | undefined;

  const release = (functionId: string, count: number) => {
    const queue = queues.size === 0 ? undefined : queues.get(functionId);
    if (queue) for (const resume of [...queue.waiters].slice(0, count)) resume();
  };

  return {
    start() {
      // A new pod has room for as many requests as its concurrency. A fault has to reach the waiting requests, too.
      unsubscribe = endpoints.onChange((functionId) => {
        release(functionId, queues.get(functionId)?.target.limits.concurrency ?? 0);
      });
    },
    stop() {
      unsubscribe?.();
    },
    async wait(target, arrivedAt, signal) {
      signal.throwIfAborted();
      const queue = queues.get(target.id) ?? { target, waiters: new Set() };
      if (queue.waiters.size >= queueMax) throw new RequestFailure(functionBusy);
      queues.set(target.id, queue);
      const waiter = Promise.withResolvers<void>();
      const resume = () => {
        queue.waiters.delete(resume);
        waiter.resolve();
      };
      queue.waiters.add(resume);
      const timeoutError = () => new RequestFailure(functionBusy);
      try {
        await waitForRelease(waiter, { clock, endsAt: arrivedAt + holdMs, timeoutError, signal });
      } finally {
        queue.waiters.delete(resume);
        if (queue.waiters.size === 0 && queues.get(target.id) === queue) queues.delete(target.id);
      }
    },
    next: (functionId) => release(functionId, 1),
    waiting: () => [...queues.values()].reduce((sum, { waiters }) => sum + waiters.size, 0),
  };
}
