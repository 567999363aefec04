import type { Endpoints } from './endpoints.ts';
import { coldStartFailed, coldStartTimeout, platformUnavailable, queueFull, RequestFailure } from './failure.ts';
import { waitForRelease } from './held-request.ts';
import type { Target } from './routes.ts';
import { createScaleRaiser, type RaiseProgress, type ScaleRaiserOptions } from './scale-raiser.ts';

export interface ActivatorOptions extends ScaleRaiserOptions {
  endpoints: Pick<Endpoints, 'pick' | 'fault' | 'onChange'>;
  /** Maximum waiting requests of one function; more get 503. */
  queueMax: number;
  /** Maximum time for which a request is held, from its arrival, in ms. */
  holdMs: number;
}

/** Starts functions that have no usable pod. */
export interface Activator {
  start(): void;
  stop(): void;
  /**
   * Resolves as soon as the function has a usable pod, and scales it from 0 to 1 if necessary. Times are on the
   * monotonic clock; `arrivedAt` is the request's.
   * @returns when this process raised the scale; undefined when it did not
   * @throws RequestFailure when the hold ends, the queue is full or the pods crash; the signal's reason when it aborts
   */
  hold(target: Target, arrivedAt: number, signal: AbortSignal): Promise<number | undefined>;
  /** The number of waiting requests, over all functions. */
  waiting(): number;
}

type Waiter = PromiseWithResolvers<void>;

/** A function that is being started, for all requests that wait for it. */
interface Wake {
  waiters: Set<Waiter>;
  progress: Readonly<RaiseProgress>;
  stopped: AbortController;
}

export function createActivator({ kube, endpoints, clock, log, queueMax, holdMs }: ActivatorOptions): Activator {
  const raiseScale = createScaleRaiser({ kube, clock, log });
  const wakes = new Map<string, Wake>();
  let unsubscribe: (() => void) | undefined;

  const wakeOf = (target: Target): Wake => {
    const current = wakes.get(target.id);
    if (current) return current;
    const stopped = new AbortController();
    const wake: Wake = { waiters: new Set(), progress: raiseScale(target, stopped.signal), stopped };
    wakes.set(target.id, wake);
    return wake;
  };

  const settle = (functionId: string, end: (waiter: Waiter) => void) => {
    const wake = wakes.get(functionId);
    if (!wake) return;
    wakes.delete(functionId);
    wake.stopped.abort();
    for (const waiter of wake.waiters) end(waiter);
  };

  /** The last request that stops waiting also ends the start. */
  const leave = (functionId: string, wake: Wake, waiter: Waiter) => {
    wake.waiters.delete(waiter);
    if (wake.waiters.size > 0 || wakes.get(functionId) !== wake) return;
    wakes.delete(functionId);
    wake.stopped.abort();
  };

  return {
    start() {
      unsubscribe = endpoints.onChange((functionId) => {
        if (endpoints.pick(functionId)) settle(functionId, ({ resolve }) => resolve());
        const fault = endpoints.fault(functionId);
        if (fault) settle(functionId, ({ reject }) => reject(new RequestFailure(coldStartFailed(fault))));
      });
    },
    stop() {
      unsubscribe?.();
      for (const id of wakes.keys()) {
        settle(id, ({ reject }) => reject(new RequestFailure(platformUnavailable)));
      }
    },
    async hold(target, arrivedAt, signal) {
      signal.throwIfAborted();
      const fault = endpoints.fault(target.id);
      if (fault) throw new RequestFailure(coldStartFailed(fault));
      const wake = wakeOf(target);
      if (wake.waiters.size >= queueMax) throw new RequestFailure(queueFull);
      const waiter = Promise.withResolvers<void>();
      wake.waiters.add(waiter);
      const timeoutError = () => timedOut(wake.progress, holdMs);
      try {
        await waitForRelease(waiter, { clock, endsAt: arrivedAt + holdMs, timeoutError, signal });
        return wake.progress.raisedAt;
      } finally {
        leave(target.id, wake, waiter);
      }
    },
    waiting: () => [...wakes.values()].reduce((sum, { waiters }) => sum + waiters.size, 0),
  };
}

function timedOut({ lastError }: RaiseProgress, holdMs: number): RequestFailure {
  return lastError === undefined
    ? new RequestFailure(coldStartTimeout(holdMs))
    : new RequestFailure(platformUnavailable, lastError);
}
