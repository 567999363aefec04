import type { Logger } from 'pino';
import type { Clock } from '../../runtime/domain/clock.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import type { Target as RouteTarget } from './routes.ts';

type Target = Pick<RouteTarget, 'namespace' | 'name'>;

/**
 * While requests wait, the scale is checked again after this time, because the scaler may have scaled to zero just before
 * they arrived, and then after twice as long each time, up to the maximum: the checks of many functions that start at
 * once would otherwise take the processors that their pods need.
 */
const recheckMinMs = 500;
const recheckMaxMs = 4_000;
/** Delay after a write conflict; the next read shows the other writer's scale. */
const conflictDelayMs = 5;
const retryMinMs = 50;
const retryMaxMs = 1_000;

export interface ScaleRaiserOptions {
  kube: Pick<KubeClient, 'getScale' | 'replaceScale'>;
  clock: Clock;
  log: Logger;
}

/** The progress of raising one function's scale. */
export interface RaiseProgress {
  /** When this process raised the scale, on the monotonic clock; undefined when it did not. */
  raisedAt?: number;
  /** The error of the last attempt. */
  lastError?: unknown;
}

/**
 * Raises a function's scale whenever it is zero, until the signal aborts. Failures are retried.
 * @returns at once; the progress is updated until then
 */
export type ScaleRaiser = (target: Target, signal: AbortSignal) => Readonly<RaiseProgress>;

export function createScaleRaiser({ kube, clock, log }: ScaleRaiserOptions): ScaleRaiser {
  /** Scales only from 0 to 1; the precondition makes conflicts with the scaler or another interceptor harmless. */
  const raise = async ({ namespace, name }: Target, progress: RaiseProgress): Promise<void> => {
    const scale = await kube.getScale(namespace, name);
    if (!scale) throw new Error(`the function has no Deployment ${namespace}/${name} yet`);
    if (scale.replicas !== 0) return;
    await kube.replaceScale(scale, 1);
    progress.raisedAt = clock.monotonic();
    log.info({ namespace, function: name }, 'raised from zero');
  };

  const keepRaised = async (target: Target, progress: RaiseProgress, signal: AbortSignal): Promise<void> => {
    let failures = 0;
    let recheckMs = recheckMinMs;
    while (!signal.aborted) {
      let delay = recheckMs;
      try {
        await raise(target, progress);
        delete progress.lastError;
        failures = 0;
        recheckMs = Math.min(recheckMaxMs, recheckMs * 2);
      } catch (error) {
        if (isKubeError(error, 409)) delay = conflictDelayMs;
        else {
          if (progress.lastError === undefined) log.warn({ err: error, ...target }, 'raise from zero failed');
          progress.lastError = error;
          delay = Math.min(retryMaxMs, retryMinMs * 2 ** failures++);
        }
      }
      await clock.sleep(delay, signal).catch(() => undefined);
    }
  };

  return (target, signal) => {
    const progress: RaiseProgress = {};
    void keepRaised(target, progress, signal);
    return progress;
  };
}
