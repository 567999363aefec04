import type { FunctionLimits } from '../../runtime/contracts/resources/function.ts';

/** Target of concurrent requests for each pod. */
const requestsPerReplica = 10;

/**
 * Target of waiting events for each pod. A source adds up to 1,000 at a time, which is ten pods, and a pod that handles
 * events one by one finishes 100 within seconds.
 */
const eventsPerReplica = 100;

/** A function without events scales to zero after this time, or its idle time-out if shorter (docs/reference/functions.md#scaling). */
const eventQuietMs = 30_000;

/** The load of one function, over all interceptors. */
export interface Load {
  /** The replicas in the spec of the Deployment. */
  replicas: number;
  requests: RequestLoad;
  /** The maxima of the last minute; undefined without samples of the whole minute. */
  peak: RequestLoad | undefined;
  /** Milliseconds since the last activity at any interceptor; undefined when one of them is unknown. */
  idleMs: number | undefined;
  idleTimeoutMs: number;
  /** Of its event source; undefined without one. */
  events?: EventPressure | undefined;
  limits: ReplicaLimits;
}

/** The load of a function by its requests. */
export interface RequestLoad {
  /** Requests that are held or forwarded at one moment. */
  inflight: number;
  /** Requests per second. */
  rate: number;
}

/** The load of a function by its events. */
export interface EventPressure {
  /** Undelivered events; undefined while the number is unknown. */
  backlog: number | undefined;
  /** The maximum during the last minute; undefined without samples of the whole minute. */
  peak: number | undefined;
  /** Milliseconds for which the backlog has been empty without a gap. */
  quietMs: number;
}

export type ReplicaLimits = Pick<FunctionLimits, 'minReplicas' | 'maxReplicas' | 'concurrency' | 'targetRate'>;

/**
 * The replicas for these requests: one for every 10 concurrent ones, or fewer where the function's concurrency is lower,
 * or one for each multiple of the function's target rate, whichever are more, within the function's limits
 * (docs/reference/functions.md#scaling). Short requests load a pod although few of them are in flight at once.
 */
export function replicasFor({ inflight, rate }: RequestLoad, limits: ReplicaLimits): number {
  const { minReplicas, maxReplicas, concurrency, targetRate } = limits;
  const forInflight = Math.ceil(inflight / Math.min(requestsPerReplica, concurrency));
  const forRate = Math.ceil(rate / targetRate);
  return Math.min(maxReplicas, Math.max(1, minReplicas, forInflight, forRate));
}

/** The replicas for a backlog of events; 0 for an empty one. */
function replicasForEvents(backlog: number, { maxReplicas }: ReplicaLimits): number {
  return Math.min(maxReplicas, Math.ceil(backlog / eventsPerReplica));
}

/**
 * The replicas that a function should have. From zero, interceptors scale it up for requests, and the scaler for events.
 * Scales up at once, down to the minimum after the idle time-out, and otherwise down only to what the peak of the last
 * minute needs, so that a short dip removes no pod. An unknown load never scales down, except to a lower maximum.
 */
export function desiredReplicas(load: Load): number {
  const { replicas, requests, peak, idleMs, idleTimeoutMs, events = noEvents, limits } = load;
  const { minReplicas, maxReplicas } = limits;
  const { backlog, peak: eventPeak, quietMs } = events;
  const forEvents = replicasForEvents(backlog ?? 0, limits);
  if (replicas === 0 && minReplicas === 0) return forEvents;
  const eventsIdle = backlog === 0 && quietMs >= Math.min(eventQuietMs, idleTimeoutMs);
  if (eventsIdle && requests.inflight === 0 && idleMs !== undefined && idleMs >= idleTimeoutMs) return minReplicas;
  const unknown = idleMs === undefined || peak === undefined || backlog === undefined || eventPeak === undefined;
  const floor = unknown
    ? replicas
    : Math.min(replicas, Math.max(replicasFor(peak, limits), replicasForEvents(eventPeak, limits)));
  return Math.min(maxReplicas, Math.max(floor, replicasFor(requests, limits), forEvents));
}

const noEvents: EventPressure = { backlog: 0, peak: 0, quietMs: Infinity };
