import type { Limits } from './verdict.ts';

/**
 * The `RateLimit` field (draft-ietf-httpapi-ratelimit-headers-10 §4): `r` remaining requests, and `t` seconds until the
 * limit resets, for each policy of `RateLimit-Policy`.
 */
export function limitField({ rateLeft, rateReset, quota }: Limits): string {
  const rate = `"rate";r=${rateLeft};t=${rateReset}`;
  return quota ? `${rate}, "quota";r=${quota.left};t=${quota.reset}` : rate;
}
