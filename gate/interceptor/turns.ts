import type { Clock } from '../../runtime/domain/clock.ts';
import type { Endpoints } from './endpoints.ts';
import { functionBusy, RequestFailure } from './failure.ts';
import type { Target } from './routes.ts';

export interface TurnsOptions {
  endpoints: Pick<Endpoints, 'onChange'>;
  clock: Clock;
  /** How many requests may wait for one function; more get 503. */
  queueMax: number;
  /** How long a request waits, from its arrival on. */
  holdMs: number;
}

/** Where requests wait while every pod of their function has as many as it may have. */
export interface Turns {
  start(): void;
  stop(): void;
  /**
   * Resolves, first come, first served, when a pod may have room again: then the request looks for one.
   * @throws RequestFailure when the wait ends or too many wait; the signal's reason when aborted
   */
  wait(target: Target, arrivedAt: number, signal: AbortSignal): Promise<void>;
  /** One request of the function is over. */
  next(functionId: string): void;
  /** How many requests wait, over all functions. */
  waiting(): number;
}

interface Queue {
  target: Target;
  waiters: Set<() => void>;
}

export function createTurns({ endpoints, clock, queueMax, holdMs }: TurnsOptions): Turns {
  const queues = new Map<string, Queue>();
  let unsubscribe: (() => void) | undefined;

  const call = (functionId: string, count: number) => {
    const queue = queues.size === 0 ? undefined : queues.get(functionId);
    if (queue) for (const waiter of [...queue.waiters].slice(0, count)) waiter();
  };

  return {
    start() {
      // A pod more is room for as many as one may have; a fault is for all of them to see.
      unsubscribe = endpoints.onChange((functionId) => {
        call(functionId, queues.get(functionId)?.target.limits.concurrency ?? 0);
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
      const over = new AbortController();
      const turn = Promise.withResolvers<void>();
      const waiter = () => {
        queue.waiters.delete(waiter);
        turn.resolve();
      };
      queue.waiters.add(waiter);
      signal.addEventListener('abort', () => turn.reject(signal.reason), { once: true, signal: over.signal });
      clock.sleep(Math.max(0, arrivedAt + holdMs - clock.monotonic()), over.signal).then(
        () => turn.reject(new RequestFailure(functionBusy)),
        () => undefined,
      );
      try {
        await turn.promise;
      } finally {
        over.abort();
        queue.waiters.delete(waiter);
        if (queue.waiters.size === 0 && queues.get(target.id) === queue) queues.delete(target.id);
      }
    },
    next: (functionId) => call(functionId, 1),
    waiting: () => [...queues.values()].reduce((sum, { waiters }) => sum + waiters.size, 0),
  };
}
