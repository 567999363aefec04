import type { FunctionLimits } from '../../runtime/contracts/resources/function.ts';

/** How many requests at once one pod is meant to have. */
export const requestsPerReplica = 10;

/**
 * How many waiting events one pod is meant to have: a source brings a thousand at a time at most, which are ten pods, and
 * a pod that takes them one by one has a hundred done within seconds.
 */
export const eventsPerReplica = 100;

/** Without events a function goes to zero this soon (spec.md §3.4), or after its idle time-out if that is less. */
const eventQuietMs = 30_000;

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
  /** What its data source asks of it; undefined without one. */
  events?: EventPressure | undefined;
  limits: ReplicaLimits;
}

/** What a data source asks of a function. */
export interface EventPressure {
  /** Events that a pod has or is to deliver; undefined while that cannot be told. */
  backlog: number | undefined;
  /** The most during the last minute; undefined when that minute was not watched as a whole. */
  peak: number | undefined;
  /** Milliseconds since there was some, or might have been. */
  quietMs: number;
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

/** The replicas that a backlog of events asks for; none without any. */
function replicasForEvents(backlog: number, { maxReplicas }: ReplicaLimits): number {
  return Math.min(maxReplicas, Math.ceil(backlog / eventsPerReplica));
}

/**
 * The replicas that a function should have. Where it may have none, raising it from zero for requests is the interceptors'
 * part, and for events the scaler's. It raises at once, goes to the least after the idle time-out, and else lowers only to
 * what the last minute's peak needs, so that a short dip takes no pod away. What is unknown never lowers, but for a lower
 * limit.
 */
export function wantedReplicas(load: Load): number {
  const { replicas, inflight, peak, idleMs, idleTimeoutMs, events = noEvents, limits } = load;
  const { minReplicas, maxReplicas } = limits;
  const { backlog, peak: eventPeak, quietMs } = events;
  const forEvents = replicasForEvents(backlog ?? 0, limits);
  if (replicas === 0 && minReplicas === 0) return forEvents;
  const quiet = backlog === 0 && quietMs >= Math.min(eventQuietMs, idleTimeoutMs);
  if (quiet && inflight === 0 && idleMs !== undefined && idleMs >= idleTimeoutMs) return minReplicas;
  const unknown = idleMs === undefined || peak === undefined || backlog === undefined || eventPeak === undefined;
  const floor = unknown
    ? replicas
    : Math.min(replicas, Math.max(replicasFor(peak, limits), replicasForEvents(eventPeak, limits)));
  return Math.min(maxReplicas, Math.max(floor, replicasFor(inflight, limits), forEvents));
}

const noEvents: EventPressure = { backlog: 0, peak: 0, quietMs: Infinity };
