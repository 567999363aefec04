import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Endpoints } from './endpoints.ts';
import { coldStartFailed, coldStartTimeout, platformUnavailable, queueFull, RequestFailure } from './failure.ts';
import type { Target } from './routes.ts';

/** While requests wait, the scale is looked at this often: the scaler may have gone to zero just before they came. */
const recheckMs = 500;
/** After a lost race for the scale; the next read shows who won. */
const conflictDelayMs = 5;

export interface ActivatorOptions {
  kube: Pick<KubeClient, 'getScale' | 'replaceScale'>;
  endpoints: Pick<Endpoints, 'pick' | 'fault' | 'onChange'>;
  clock: Clock;
  log: Logger;
  /** How many requests may wait for one function; more get 503. */
  queueMax: number;
  /** How long a request is held, from its arrival on. */
  holdMs: number;
}

/** Wakes functions that have no usable pod. */
export interface Activator {
  start(): void;
  stop(): void;
  /**
   * Resolves as soon as the function has a usable pod, having raised its scale from 0 to 1 where it was 0; the answer
   * is when that was, if this process did it. Times are on the monotonic clock; `arrivedAt` is the request's.
   * @throws RequestFailure when the hold ends, the queue is full or the pods crash; the signal's reason when aborted
   */
  hold(target: Target, arrivedAt: number, signal: AbortSignal): Promise<number | undefined>;
  /** How many requests wait, over all functions. */
  waiting(): number;
}

interface Waiter {
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** One function that is being woken, for all requests that wait for it. */
interface Wake {
  target: Target;
  waiters: Set<Waiter>;
  stopped: AbortController;
  /** When the scale was written. */
  raisedAt?: number;
  /** Why the scale could not be raised, when that went wrong last. */
  trouble?: unknown;
}

export function createActivator({ kube, endpoints, clock, log, queueMax, holdMs }: ActivatorOptions): Activator {
  const wakes = new Map<string, Wake>();
  let unsubscribe: (() => void) | undefined;

  /** Raises 0 to 1 and nothing else; the precondition makes a race with the scaler or another interceptor harmless. */
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
        delete wake.trouble;
        failures = 0;
      } catch (error) {
        if (isKubeError(error, 409)) delay = conflictDelayMs;
        else {
          if (wake.trouble === undefined) log.warn({ err: error, ...wake.target }, 'raise from zero failed');
          wake.trouble = error;
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
    const known = wakes.get(target.id);
    if (known) return known;
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
      const held = new AbortController();
      const turn = new Promise<void>((resolve, reject) => {
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
        signal.addEventListener('abort', () => leave(signal.reason), { once: true, signal: held.signal });
        clock.sleep(Math.max(0, arrivedAt + holdMs - clock.monotonic()), held.signal).then(
          () => leave(timedOut(wake, holdMs)),
          () => undefined,
        );
      });
      try {
        await turn;
        return wake.raisedAt;
      } finally {
        held.abort();
      }
    },
    waiting: () => [...wakes.values()].reduce((sum, { waiters }) => sum + waiters.size, 0),
  };
}

function timedOut(wake: Wake, holdMs: number): RequestFailure {
  return wake.trouble === undefined
    ? new RequestFailure(coldStartTimeout(holdMs))
    : new RequestFailure(platformUnavailable, wake.trouble);
}
