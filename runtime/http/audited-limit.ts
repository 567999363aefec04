import { Problem } from '../domain/problem.ts';
import { createUserRate, type RateLimits } from '../domain/user-rate.ts';
import type { Session } from './route.ts';

/** How many requests with audit entries one user may make. */
export type AuditedLimits = RateLimits;

// More than a person or a pipeline makes. An entry takes about 300 bytes, so a user's script stores at most 100 MB a day.
const defaults: AuditedLimits = { burst: 1_200, perSecond: 4 };

/**
 * Bounds how many requests with audit entries a user makes, in this process: each leaves rows that are kept for months, and
 * most of them further ones, so that a script of one user could fill the database of all.
 */
export interface AuditedLimit {
  /** Counts one request. Platform admins have no limit; an access token counts for its user. @throws Problem `too_many_requests` */
  take(session: Pick<Session, 'userId' | 'role'>): void;
}

/** @param now in ms; default that of this process */
export function createAuditedLimit(
  limits: Partial<AuditedLimits> = {},
  now: () => number = () => performance.now(),
): AuditedLimit {
  const { burst, perSecond } = { ...defaults, ...limits };
  const rate = createUserRate({ burst, perSecond }, now);
  return {
    take({ userId, role }) {
      if (role === 'admin') return;
      const retryAfterSeconds = rate.take(userId);
      if (retryAfterSeconds === 0) return;
      const message = `You have made ${burst} requests that are recorded in a short time. Wait, and then make fewer than ${perSecond} a second.`;
      throw new Problem('too_many_requests', message, { details: { max: burst, retryAfterSeconds } });
    },
  };
}
