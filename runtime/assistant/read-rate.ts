import type { Clock } from '../domain/clock.ts';
import { Problem } from '../domain/problem.ts';

/** Users whose reads are remembered, most recent last; one who is forgotten has all reads again. */
const usersMax = 10_000;

/** Limits how often something is done for each user, in one process. */
export interface ReadRate {
  /** @throws Problem `too_many_requests` */
  take(userId: string): void;
}

/** @param limits.burst reads that are allowed at once @param limits.perSecond reads that become possible in each second */
export function createReadRate(
  { burst, perSecond }: { burst: number; perSecond: number },
  clock: Pick<Clock, 'monotonic'>,
): ReadRate {
  const users = new Map<string, { left: number; at: number }>();
  return {
    take(userId) {
      const now = clock.monotonic();
      const { left: before, at } = users.get(userId) ?? { left: burst, at: now };
      const left = Math.min(burst, before + ((now - at) / 1000) * perSecond);
      users.delete(userId);
      const [oldest] = users.keys();
      if (oldest !== undefined && users.size >= usersMax) users.delete(oldest);
      users.set(userId, { left: left < 1 ? left : left - 1, at: now });
      if (left >= 1) return;
      const retryAfterSeconds = Math.max(1, Math.ceil((1 - left) / perSecond));
      throw new Problem('too_many_requests', 'You call tools too often. Try again in a moment.', {
        details: { retryAfterSeconds },
      });
    },
  };
}
