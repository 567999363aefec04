import { Counter, Gauge, Histogram, type Registry } from 'prom-client';

export interface InterceptorMetrics {
  /** By `result`: `answered`, `client_gone`, or the code of the failure. */
  requests: Counter<'result'>;
  /** Seconds from a held request's arrival to the pod's first byte. */
  coldStart: Histogram;
}

/** The interceptor's own metrics. `inflight` and `waiting` are asked at every scrape. */
export function createInterceptorMetrics(
  registry: Registry,
  current: { inflight(): number; waiting(): number },
): InterceptorMetrics {
  const registers = [registry];
  const inflight: Gauge = new Gauge({
    name: 'interceptor_inflight_requests',
    help: 'Requests held or forwarded at this moment.',
    registers,
    collect: () => inflight.set(current.inflight()),
  });
  const waiting: Gauge = new Gauge({
    name: 'interceptor_held_requests',
    help: 'Requests that wait for a pod at this moment.',
    registers,
    collect: () => waiting.set(current.waiting()),
  });
  return {
    requests: new Counter({
      name: 'interceptor_requests_total',
      help: 'Requests by how they ended.',
      labelNames: ['result'],
      registers,
    }),
    coldStart: new Histogram({
      name: 'interceptor_cold_start_seconds',
      help: 'From the arrival of a request that had to wait for a pod to its first byte.',
      buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 20, 30, 60],
      registers,
    }),
  };
}
