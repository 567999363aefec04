import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** How many requests of one app are taken: `burst` at once, and `perSecond` in the long run. */
export interface WebhookRate {
  perSecond: number;
  burst: number;
}

/** So many apps are remembered before those are forgotten that owe nothing. */
const sweepAt = 10_000;

/**
 * Limits the requests of each app whose token was proved, in memory: each replica of console-api counts for itself, so that
 * with several an app can exceed the rate by their number.
 */
export function createRateLimit({ clock, rate }: { clock: Clock; rate: WebhookRate }) {
  const intervalMs = 1_000 / rate.perSecond;
  /** When each app's bucket is full again, on the monotonic clock. */
  const fullAt = new Map<Id, number>();
  return {
    /** Takes one request. @returns seconds to wait, or 0 to go ahead */
    take(workloadId: Id): number {
      const now = clock.monotonic();
      if (fullAt.size >= sweepAt) for (const [id, at] of fullAt) if (at <= now) fullAt.delete(id);
      const next = Math.max(fullAt.get(workloadId) ?? now, now) + intervalMs;
      const excessMs = next - now - rate.burst * intervalMs;
      if (excessMs > 0) return Math.ceil(excessMs / 1_000);
      fullAt.set(workloadId, next);
      return 0;
    },
  };
}

export type RateLimit = ReturnType<typeof createRateLimit>;
