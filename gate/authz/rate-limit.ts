/** The rate limit of each key of a plan (docs/reference/gate.md#rate-limits). */
export interface RateLimit {
  requestsPerSecond: number;
  burst: number;
}

/**
 * The token bucket of one key. It stores the tokens taken instead of those left and does not contain the plan, so that
 * a changed plan applies to the next request.
 */
export interface Bucket {
  /**
   * Tokens taken and not yet refilled, as of `at`. More than the burst after other replicas took the same tokens; less
   * than 0 for a refill that is kept for what others took and have not reported yet.
   */
  taken: number;
  /** Monotonic milliseconds. */
  at: number;
  /** Tokens that this replica took and the others do not know of; 0 while each replica limits on its own. */
  unshared: number;
}

/** Compensates floating-point errors, by which a refill of one token may count as slightly less. */
const rounding = 1e-9;

/**
 * The share of a plan's rate that all replicas together do not report, so that keys far below their rate cause no
 * messages. A key may exceed its rate by as much.
 */
const unreportedShare = 0.02;

/**
 * The seconds of a plan's rate that a full bucket keeps for tokens that others took a while ago: about the time that a
 * report takes. Without it, a refill between the taking and the report would be lost.
 */
const reportSeconds = 0.1;

/** The seconds of a plan's rate that replicas together may allow unseen, where its burst is smaller. */
const unseenSeconds = 0.25;

/** A full bucket. */
export function createBucket(): Bucket {
  return { taken: 0, at: 0, unshared: 0 };
}

/**
 * The tokens that one of several replicas may take of a bucket before the others know of it. With `burst / (replicas -
 * 1)` for each, all of them together take two bursts at most, whatever part of the bucket they know to be taken.
 */
export function unsharedMax({ requestsPerSecond, burst }: RateLimit, replicas: number): number {
  return Math.max(1, burst / (replicas - 1), (requestsPerSecond * unseenSeconds) / replicas);
}

function takenAt(bucket: Bucket, limit: RateLimit, now: number): number {
  return Math.max(0, bucket.taken - refilledSince(bucket, limit, now));
}

function refilledSince({ at }: Bucket, { requestsPerSecond }: RateLimit, now: number): number {
  return (Math.max(0, now - at) / 1000) * requestsPerSecond;
}

/** Brings a bucket up to `now`. @param replicas the number that share it; 1 forgets what was not shared */
function refill(bucket: Bucket, limit: RateLimit, now: number, replicas: number): void {
  const refilled = refilledSince(bucket, limit, now);
  const reserve = replicas > 1 ? limit.requestsPerSecond * reportSeconds : 0;
  bucket.taken = Math.max(-reserve, bucket.taken - refilled);
  bucket.unshared = replicas > 1 ? Math.max(0, bucket.unshared - (refilled * unreportedShare) / replicas) : 0;
  bucket.at = now;
}

/**
 * Takes one token.
 * @param now monotonic milliseconds
 * @param replicas the number that share the bucket; with 1, this replica limits on its own
 * @returns 0 on success; otherwise the whole seconds until a token is available (at least 1)
 */
export function takeToken(bucket: Bucket, limit: RateLimit, now: number, replicas = 1): number {
  // Also by a denial, so that a changed rate refills from here on.
  refill(bucket, limit, now, replicas);
  const taken = Math.max(0, bucket.taken);
  const deficit = taken + 1 - limit.burst;
  const unseen = replicas > 1 && bucket.unshared + 1 > unsharedMax(limit, replicas) + rounding;
  if (deficit > rounding || unseen) return Math.max(1, Math.ceil(deficit / limit.requestsPerSecond - rounding));
  // A larger bucket has room for late reports; from it, what was kept would be a burst of its own.
  const reserve = replicas > 1 ? Math.max(0, limit.requestsPerSecond * reportSeconds - limit.burst) : 0;
  bucket.taken = Math.max(bucket.taken, -reserve) + 1;
  if (replicas > 1) bucket.unshared++;
  return 0;
}

/** Counts tokens that another replica took. The bucket may then be short of more tokens than its burst. */
export function takeForOther(bucket: Bucket, limit: RateLimit, now: number, replicas: number, tokens: number): void {
  refill(bucket, limit, now, replicas);
  bucket.taken += tokens;
}

/** The other replicas know of these tokens now. */
export function markShared(bucket: Bucket, tokens: number): void {
  bucket.unshared = Math.max(0, bucket.unshared - tokens);
}

/** The number of whole tokens left. */
export function tokensLeft(bucket: Bucket, limit: RateLimit, now: number): number {
  return Math.max(0, Math.floor(limit.burst - takenAt(bucket, limit, now) + rounding));
}

/** Whole seconds until the bucket is full, at least 1. */
export function secondsToFull(bucket: Bucket, limit: RateLimit, now: number): number {
  return Math.max(1, Math.ceil(takenAt(bucket, limit, now) / limit.requestsPerSecond - rounding));
}
