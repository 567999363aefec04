import { createHash } from 'node:crypto';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';

/** A valid token is reviewed again after this time, because it may have expired or its owner may have been deleted. */
const cacheMs = 60_000;
const maxTokens = 10_000;

/**
 * Identifies the owner of a bearer token, and caches it for a minute.
 * @param review returns undefined for an invalid token
 * @returns a function from the header `Authorization` and a request path to the token's owner @throws Problem `unauthenticated`
 */
export function createTokenCache<T>(
  { clock }: { clock: Pick<Clock, 'monotonic'> },
  { review, refusal }: { review: (token: string, path: string) => Promise<T | undefined>; refusal: string },
): (authorization: string | undefined, path?: string) => Promise<T> {
  const cache = new Map<string, { owner: T; until: number }>();
  return async (authorization, path = '') => {
    const token = /^Bearer ([\w.~+/-]+=*)$/.exec(authorization ?? '')?.[1];
    if (token === undefined) throw new Problem('unauthenticated', refusal);
    const key = createHash('sha256').update(`${path} ${token}`).digest('base64');
    const now = clock.monotonic();
    const cached = cache.get(key);
    if (cached && cached.until > now) return cached.owner;
    cache.delete(key);
    const owner = await review(token, path);
    if (owner === undefined) throw new Problem('unauthenticated', refusal);
    if (cache.size >= maxTokens) cache.clear();
    cache.set(key, { owner, until: now + cacheMs });
    return owner;
  };
}
