/** The rate limit of each key of a plan, per replica (docs/reference/gate.md#rate-limits). */
export interface RateLimit {
  requestsPerSecond: number;
  burst: number;
}

/**
 * The token bucket of one key. It stores the tokens taken instead of those left and does not contain the plan, so that
 * a changed plan applies to the next request.
 */
export interface Bucket {
  /** Tokens taken and not yet refilled, as of `at`. */
  taken: number;
  /** Monotonic milliseconds. */
  at: number;
}

/** Compensates floating-point errors, by which a refill of one token may count as slightly less. */
const rounding = 1e-9;

/** A full bucket. */
export function createBucket(): Bucket {
  return { taken: 0, at: 0 };
}

function takenAt(bucket: Bucket, limit: RateLimit, now: number): number {
  const refilled = (Math.max(0, now - bucket.at) / 1000) * limit.requestsPerSecond;
  return Math.max(0, bucket.taken - refilled);
}

/**
 * Takes one token.
 * @param now monotonic milliseconds
 * @returns 0 on success; otherwise the whole seconds until a token is available (at least 1)
 */
export function takeToken(bucket: Bucket, limit: RateLimit, now: number): number {
  const taken = takenAt(bucket, limit, now);
  const deficit = taken + 1 - limit.burst;
  const denied = deficit > rounding;
  // Also set by a denial, so that a changed rate refills from here on.
  bucket.at = now;
  bucket.taken = denied ? taken : taken + 1;
  return denied ? Math.max(1, Math.ceil(deficit / limit.requestsPerSecond - rounding)) : 0;
}

/** The number of whole tokens left. */
export function tokensLeft(bucket: Bucket, limit: RateLimit, now: number): number {
  return Math.max(0, Math.floor(limit.burst - takenAt(bucket, limit, now) + rounding));
}

/** Whole seconds until the bucket is full, at least 1. */
export function secondsToFull(bucket: Bucket, limit: RateLimit, now: number): number {
  return Math.max(1, Math.ceil(takenAt(bucket, limit, now) / limit.requestsPerSecond - rounding));
}
