/** A function has at most this many replicas (spec.md §8). */
export const replicasMax = 10;
/** How many requests at once one pod is meant to have. */
export const requestsPerReplica = 10;

/** What is known of one function's load, over all interceptors. */
export interface Load {
  /** Replicas that the Deployment asks for now. */
  replicas: number;
  /** Requests that are held or forwarded at this moment. */
  inflight: number;
  /** The most that was in flight during the last minute; undefined when that minute was not watched as a whole. */
  peak: number | undefined;
  /** Milliseconds since the last activity at any interceptor; undefined when one of them cannot tell. */
  idleMs: number | undefined;
  idleTimeoutMs: number;
}

/** The band of a load (spec.md §3.4): 1 for up to 10 at once, 2 to 5 for up to 50, and up to 10 above that. */
export function replicasFor(inflight: number): number {
  return Math.min(replicasMax, Math.max(1, Math.ceil(inflight / requestsPerReplica)));
}

/**
 * The replicas that a function should have. The scaler never raises from zero: that is the interceptors' part. It raises
 * at once, goes to zero after the idle time-out, and else lowers only to what the last minute's peak needs, so that a
 * short dip takes no pod away. What is unknown never lowers.
 */
export function wantedReplicas({ replicas, inflight, peak, idleMs, idleTimeoutMs }: Load): number {
  if (replicas === 0) return 0;
  if (inflight === 0 && idleMs !== undefined && idleMs >= idleTimeoutMs) return 0;
  const floor = idleMs === undefined || peak === undefined ? replicas : Math.min(replicas, replicasFor(peak));
  return Math.max(floor, replicasFor(inflight));
}
