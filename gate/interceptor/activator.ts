import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Endpoints } from './endpoints.ts';
import { coldStartFailed, coldStartTimeout, platformUnavailable, queueFull, RequestFailure } from './failure.ts';
import type { Target } from './routes.ts';

/**
 * While requests wait, the scale is checked at this interval: the scaler may have scaled to zero just before they
 * arrived.
 */
const recheckMs = 500;
/** Delay after a write conflict; the next read shows the other writer's scale. */
const conflictDelayMs = 5;

export interface ActivatorOptions {
  kube: Pick<KubeClient, 'getScale' | 'replaceScale'>;
  endpoints: Pick<Endpoints, 'pick' | 'fault' | 'onChange'>;
  clock: Clock;
  log: Logger;
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

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** A function that is being started, for all requests that wait for it. */
interface Wake {
  target: Target;
  waiters: Set<Waiter>;
  stopped: AbortController;
  /** When the scale was raised. */
  raisedAt?: number;
  /** The error of the last attempt to raise the scale. */
  lastError?: unknown;
}

export function createActivator({ kube, endpoints, clock, log, queueMax, holdMs }: ActivatorOptions): Activator {
  const wakes = new Map<string, Wake>();
  let unsubscribe: (() => void) | undefined;

  /** Scales only from 0 to 1; the precondition makes conflicts with the scaler or another interceptor harmless. */
  const raise = async (wake: Wake): Promise<void> => {
    const { namespace, name } = wake.target;
    const scale = await kube.getScale(namespace, name);
    if (!scale) throw new Error(`the function has no Deployment ${namespace}/${name} yet`);
    if (scale.replicas !== 0) return;
    await kube.replaceScale(scale, 1);
    wake.raisedAt = clock.monotonic();
    log.info({ namespace, function: name }, 'raised from zero');
  };

  const keepAwake = async (wake: Wake): Promise<void> => {
    const { signal } = wake.stopped;
    let failures = 0;
    while (!signal.aborted) {
      let delay = recheckMs;
      try {
        await raise(wake);
        delete wake.lastError;
        failures = 0;
      } catch (error) {
        if (isKubeError(error, 409)) delay = conflictDelayMs;
        else {
          if (wake.lastError === undefined) log.warn({ err: error, ...wake.target }, 'raise from zero failed');
          wake.lastError = error;
          delay = Math.min(1_000, 50 * 2 ** failures++);
        }
      }
      await clock.sleep(delay, signal).catch(() => undefined);
    }
  };

  const settle = (functionId: string, end: (waiter: Waiter) => void) => {
    const wake = wakes.get(functionId);
    if (!wake) return;
    wakes.delete(functionId);
    wake.stopped.abort();
    for (const waiter of wake.waiters) end(waiter);
  };

  const wakeOf = (target: Target): Wake => {
    const current = wakes.get(target.id);
    if (current) return current;
    const wake: Wake = { target, waiters: new Set(), stopped: new AbortController() };
    wakes.set(target.id, wake);
    void keepAwake(wake);
    return wake;
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
      const ended = new AbortController();
      const woken = new Promise<void>((resolve, reject) => {
        const waiter: Waiter = { resolve, reject };
        const leave = (error: unknown) => {
          wake.waiters.delete(waiter);
          if (wake.waiters.size === 0 && wakes.get(target.id) === wake) {
            wakes.delete(target.id);
            wake.stopped.abort();
          }
          reject(error);
        };
        wake.waiters.add(waiter);
        signal.addEventListener('abort', () => leave(signal.reason), { once: true, signal: ended.signal });
        clock.sleep(Math.max(0, arrivedAt + holdMs - clock.monotonic()), ended.signal).then(
          () => leave(timedOut(wake, holdMs)),
          () => undefined,
        );
      });
      try {
        await woken;
        return wake.raisedAt;
      } finally {
        ended.abort();
      }
    },
    waiting: () => [...wakes.values()].reduce((sum, { waiters }) => sum + waiters.size, 0),
  };
}

function timedOut(wake: Wake, holdMs: number): RequestFailure {
  return wake.lastError === undefined
    ? new RequestFailure(coldStartTimeout(holdMs))
    : new RequestFailure(platformUnavailable, wake.lastError);
}
