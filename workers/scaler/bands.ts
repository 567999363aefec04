import type { FunctionLimits } from '../../runtime/contracts/resources/function.ts';

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
  limits: ReplicaLimits;
}

export type ReplicaLimits = Pick<FunctionLimits, 'minReplicas' | 'maxReplicas' | 'concurrency'>;

/**
 * The band of a load (spec.md §3.4): 1 for up to 10 at once, 2 to 5 for up to 50, and up to 10 above that; sooner where a
 * pod may have fewer at once, and within the function's own limits.
 */
export function replicasFor(inflight: number, { minReplicas, maxReplicas, concurrency }: ReplicaLimits): number {
  const needed = Math.ceil(inflight / Math.min(requestsPerReplica, concurrency));
  return Math.min(maxReplicas, Math.max(1, minReplicas, needed));
}

/**
 * The replicas that a function should have. Where it may have none, raising it from zero is the interceptors' part. The
 * scaler raises at once, goes to the least after the idle time-out, and else lowers only to what the last minute's peak
 * needs, so that a short dip takes no pod away. What is unknown never lowers, but for a lower limit.
 */
export function wantedReplicas({ replicas, inflight, peak, idleMs, idleTimeoutMs, limits }: Load): number {
  const { minReplicas, maxReplicas } = limits;
  if (replicas === 0 && minReplicas === 0) return 0;
  if (inflight === 0 && idleMs !== undefined && idleMs >= idleTimeoutMs) return minReplicas;
  const floor = idleMs === undefined || peak === undefined ? replicas : Math.min(replicas, replicasFor(peak, limits));
  return Math.min(maxReplicas, Math.max(floor, replicasFor(inflight, limits)));
}
