/** What a plan allows to each of its keys, per replica (spec.md §2.1). */
export interface RateLimit {
  requestsPerSecond: number;
  burst: number;
}

/**
 * A token bucket of one key, kept as the tokens that are out rather than those that are left: it holds no plan, so a
 * changed plan judges the very next request.
 */
export interface Bucket {
  /** Tokens taken and not yet refilled, as of `at`. */
  taken: number;
  /** Monotonic milliseconds. */
  at: number;
}

/** Fractions of a token do not add up exactly; without this a refill of one may count as a hair less. */
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
 * Takes one token, if there is one.
 * @param now monotonic milliseconds
 * @returns 0 when it was taken, else the whole seconds after which there is one (at least 1); then nothing was taken
 */
export function takeToken(bucket: Bucket, limit: RateLimit, now: number): number {
  const taken = takenAt(bucket, limit, now);
  const missing = taken + 1 - limit.burst;
  // The time of a denial is kept too: after a plan's change the new rate refills from here on.
  bucket.at = now;
  bucket.taken = missing > rounding ? taken : taken + 1;
  return missing > rounding ? Math.max(1, Math.ceil(missing / limit.requestsPerSecond - rounding)) : 0;
}

/** Whole tokens that are left. */
export function tokensLeft(bucket: Bucket | undefined, limit: RateLimit, now: number): number {
  return bucket ? Math.max(0, Math.floor(limit.burst - takenAt(bucket, limit, now) + rounding)) : limit.burst;
}

/** Whole seconds until the bucket is full, at least 1. */
export function secondsToFull(bucket: Bucket | undefined, limit: RateLimit, now: number): number {
  return bucket ? Math.max(1, Math.ceil(takenAt(bucket, limit, now) / limit.requestsPerSecond - rounding)) : 1;
}
