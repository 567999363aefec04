import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';

/** The allowed requests of one app: `burst` at once, and `perSecond` on average. */
export interface WebhookRate {
  perSecond: number;
  burst: number;
}

/** Number of remembered apps at which those with a full bucket are removed. */
const sweepAt = 10_000;

/**
 * Limits the verified requests of each app. Each replica of console-api counts in its own memory, so that the effective
 * limit is multiplied by the number of replicas.
 */
export function createRateLimit({ clock, rate }: { clock: Clock; rate: WebhookRate }) {
  const intervalMs = 1_000 / rate.perSecond;
  /** When each app's bucket is full again, on the monotonic clock. */
  const fullAt = new Map<Id, number>();
  return {
    /** Takes one request. @returns seconds to wait, or 0 */
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
