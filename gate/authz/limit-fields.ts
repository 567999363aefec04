import type { Limits } from './verdict.ts';

/**
 * What a key has left, as a `RateLimit` field (draft-ietf-httpapi-ratelimit-headers-10 §4): `r` requests, and `t` seconds
 * until there are more. The policies that it names are those of `RateLimit-Policy`.
 */
export function limitField({ rateLeft, rateReset, quota }: Limits): string {
  const rate = `"rate";r=${rateLeft};t=${rateReset}`;
  return quota ? `${rate}, "quota";r=${quota.left};t=${quota.reset}` : rate;
}
