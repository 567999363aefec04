/** How often something may be done for one user. */
export interface RateLimits {
  /** How many may follow each other at once. */
  burst: number;
  /** How many more become possible in each second. */
  perSecond: number;
}

/** Counts what is done for each user, in this process. */
export interface UserRate {
  /** Counts one more if it is allowed. @returns 0, or the whole seconds after which the next is allowed */
  take(userId: string): number;
}

/** Users who are remembered; one who is forgotten, because others came since, has the whole burst again. */
const usersMax = 10_000;

/** A token bucket for each user. @param now a monotonic clock in ms */
export function createUserRate({ burst, perSecond }: RateLimits, now: () => number): UserRate {
  const users = new Map<string, { left: number; at: number }>();
  return {
    take(userId) {
      const at = now();
      const before = users.get(userId) ?? { left: burst, at };
      const left = Math.min(burst, before.left + ((at - before.at) / 1000) * perSecond);
      // The user who was here last is the last one of the map.
      users.delete(userId);
      const [oldest] = users.keys();
      if (oldest !== undefined && users.size >= usersMax) users.delete(oldest);
      users.set(userId, { left: left < 1 ? left : left - 1, at });
      return left < 1 ? Math.max(1, Math.ceil((1 - left) / perSecond)) : 0;
    },
  };
}
