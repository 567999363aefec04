/** The kinds of workloads in labels of metrics. */
export const metricKinds = ['app', 'function', 'job', 'service'] as const;

export type MetricKind = (typeof metricKinds)[number];

/** The metrics of workloads, which svc-controllers, svc-interceptor and the ingress export. */
export const workloadMetrics = {
  requests: 'svc_requests_total',
  duration: 'svc_request_duration_seconds',
  coldStarts: 'svc_cold_starts_total',
  cpu: 'svc_workload_cpu_seconds_total',
  memory: 'svc_workload_memory_bytes',
  replicas: 'svc_workload_replicas',
  readyReplicas: 'svc_workload_ready_replicas',
  restarts: 'svc_workload_restarts_total',
  oomKills: 'svc_workload_oom_kills_total',
} as const;

/** The upper bounds of the buckets of request durations, in seconds. Few, because each bucket is a series. */
export const durationBuckets = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/**
 * How a figure follows from a metric: `rate` per second and `increase` per step from a counter, `last` from a gauge,
 * `quantile` from a histogram.
 */
type Derivation =
  | { from: 'rate' | 'increase'; metric: string; errorsOnly?: true }
  | { from: 'last'; metric: string }
  | { from: 'quantile'; metric: string; quantile: number };

/** The figures of a workload and how they are computed. */
const figures = {
  /** Requests per second. */
  requestsPerSecond: { from: 'rate', metric: workloadMetrics.requests },
  /** Requests per second that ended with a 5xx status. */
  errorsPerSecond: { from: 'rate', metric: workloadMetrics.requests, errorsOnly: true },
  /** Seconds. */
  latencyP50Seconds: { from: 'quantile', metric: workloadMetrics.duration, quantile: 0.5 },
  latencyP95Seconds: { from: 'quantile', metric: workloadMetrics.duration, quantile: 0.95 },
  latencyP99Seconds: { from: 'quantile', metric: workloadMetrics.duration, quantile: 0.99 },
  /** Requests that waited for a pod, per step. */
  coldStarts: { from: 'increase', metric: workloadMetrics.coldStarts },
  /** Cores in use. */
  cpuCores: { from: 'rate', metric: workloadMetrics.cpu },
  /** Bytes in use. */
  memoryBytes: { from: 'last', metric: workloadMetrics.memory },
  replicas: { from: 'last', metric: workloadMetrics.replicas },
  readyReplicas: { from: 'last', metric: workloadMetrics.readyReplicas },
  /** Per step. */
  restarts: { from: 'increase', metric: workloadMetrics.restarts },
  oomKills: { from: 'increase', metric: workloadMetrics.oomKills },
} as const satisfies Record<string, Derivation>;

export type FigureName = keyof typeof figures;

export const figureNames = Object.keys(figures) as FigureName[];

/** The figures of each kind of workload: only apps and functions have requests, and only functions cold starts. */
export function figuresOf(kind: MetricKind): FigureName[] {
  const resources: FigureName[] = ['cpuCores', 'memoryBytes', 'replicas', 'readyReplicas', 'restarts', 'oomKills'];
  const traffic: FigureName[] = [
    'requestsPerSecond',
    'errorsPerSecond',
    'latencyP50Seconds',
    'latencyP95Seconds',
    'latencyP99Seconds',
  ];
  if (kind === 'app') return [...traffic, ...resources];
  if (kind === 'function') return [...traffic, 'coldStarts', ...resources];
  return resources;
}

/** The derivation of a figure. */
export function derivationOf(name: FigureName): Derivation {
  return figures[name];
}

/** The label `code` of a status: its class, such as `2xx`, so that a workload has few series. */
export function statusClass(status: number): string {
  return status >= 100 && status < 600 ? `${Math.floor(status / 100)}xx` : '5xx';
}
