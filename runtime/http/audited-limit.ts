import { Problem } from '../domain/problem.ts';
import type { Session } from './route.ts';

export interface AuditedLimits {
  /** Requests of one user that may follow each other at once. */
  burst: number;
  /** Requests of one user in the long run. */
  perSecond: number;
}

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
  const users = new Map<string, { left: number; at: number }>();
  return {
    take({ userId, role }) {
      if (role === 'admin') return;
      const at = now();
      const before = users.get(userId) ?? { left: burst, at };
      const left = Math.min(burst, before.left + ((at - before.at) / 1_000) * perSecond);
      if (left >= 1) {
        users.set(userId, { left: left - 1, at });
        return;
      }
      const retryAfterSeconds = Math.max(1, Math.ceil((1 - left) / perSecond));
      const message = `You have made ${burst} requests that are recorded in a short time. Wait, and then make fewer than ${perSecond} a second.`;
      throw new Problem('too_many_requests', message, { details: { max: burst, retryAfterSeconds } });
    },
  };
}
