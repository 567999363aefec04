import { createHash } from 'node:crypto';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';

/** A token that was good is asked about again after so long: whom it stands for may be gone, or its time over. */
const trustedMs = 60_000;
const trustedMax = 10_000;

/**
 * Tells whom a bearer's token stands for, and remembers it for a minute.
 * @param review undefined for a token that stands for nobody
 * @returns a check of the header `Authorization` of a request for a place @throws Problem `unauthenticated`
 */
export function createKnownTokens<T>(
  { clock }: { clock: Pick<Clock, 'monotonic'> },
  { review, refusal }: { review: (token: string, place: string) => Promise<T | undefined>; refusal: string },
): (authorization: string | undefined, place?: string) => Promise<T> {
  const trusted = new Map<string, { whom: T; until: number }>();
  return async (authorization, place = '') => {
    const token = /^Bearer ([\w.~+/-]+=*)$/.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new Problem('unauthenticated', refusal);
    const key = createHash('sha256').update(`${place} ${token}`).digest('base64');
    const now = clock.monotonic();
    const known = trusted.get(key);
    if (known && known.until > now) return known.whom;
    trusted.delete(key);
    const whom = await review(token, place);
    if (whom === undefined) throw new Problem('unauthenticated', refusal);
    if (trusted.size >= trustedMax) trusted.clear();
    trusted.set(key, { whom, until: now + trustedMs });
    return whom;
  };
}
