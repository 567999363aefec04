import type { MetricsRange } from '../../runtime/contracts/api/metrics.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { collectSeconds, pointsMax, type MetricsWindow } from '../../runtime/metrics/metrics-store.ts';

/** Seconds of a range, and its default step. */
const ranges: Readonly<Record<MetricsRange, { seconds: number; step: number }>> = {
  '1h': { seconds: 3_600, step: 60 },
  '6h': { seconds: 21_600, step: 300 },
  '24h': { seconds: 86_400, step: 900 },
  '3d': { seconds: 259_200, step: 3_600 },
};

/** The newest time, in seconds, for which all processes have been asked. */
export function settledTime(now: Date): number {
  return Math.floor(now.getTime() / 1000 / collectSeconds) * collectSeconds - collectSeconds;
}

/**
 * The window of a range that ends with the newest values. Its times are multiples of the collection's interval, and of longer
 * ranges whole minutes, which stores keep longer. @throws Problem `invalid_value` for a step with too many values
 */
export function windowOf(
  { range, step: chosen }: { range: MetricsRange; step?: number | undefined },
  now: Date,
): MetricsWindow {
  const { seconds, step: fallback } = ranges[range];
  const step = chosen ?? fallback;
  const least = Math.ceil(seconds / (pointsMax - 1));
  if (step < least) {
    throw new Problem('invalid_value', `For the range ${range}, step must be at least ${least} seconds.`);
  }
  if (step > seconds)
    throw new Problem('invalid_value', `For the range ${range}, step must be at most ${seconds} seconds.`);
  const unit = range === '1h' ? collectSeconds : 60;
  const to = Math.floor(settledTime(now) / unit) * unit;
  return { from: to - Math.floor(seconds / step) * step, to, step };
}
