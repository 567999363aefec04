import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { durationBuckets, statusClass, workloadMetrics, type MetricKind } from './figures.ts';

/** The requests of one workload. */
export interface RequestFigures {
  /** Records the end of a request. */
  ended(status: number, seconds: number): void;
  /** Records a request that waited for a pod. */
  coldStart(): void;
  /** Removes the workload's metrics; later calls have no effect. */
  forget(): void;
}

export interface RequestMetrics {
  /**
   * The figures of a workload, whose series appear with its first request. Keep it: a call is not cheap. Beyond the limits
   * a workload has no series until another is forgotten and this is called again.
   */
  of(workload: { kind: MetricKind; namespace: string; name: string }): RequestFigures;
}

/** Workloads with series, of all namespaces and of one: each has about fifteen series. */
const defaultLimits = { total: 5_000, perNamespace: 500 };

const noFigures: RequestFigures = { ended: () => undefined, coldStart: () => undefined, forget: () => undefined };

const workloadLabels = ['namespace', 'kind', 'name'] as const;

/** The metrics of requests to workloads, under the same names wherever requests pass. */
export function createRequestMetrics(registry: Registry, limits = defaultLimits): RequestMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: workloadMetrics.requests,
    help: 'Requests of a workload, by class of status.',
    labelNames: [...workloadLabels, 'code'],
    registers,
  });
  const duration = new Histogram({
    name: workloadMetrics.duration,
    help: 'Seconds from the arrival of a request of a workload to the end of its response.',
    labelNames: workloadLabels,
    buckets: durationBuckets,
    registers,
  });
  const coldStarts = new Counter({
    name: workloadMetrics.coldStarts,
    help: 'Requests of a workload that waited for a pod to start.',
    labelNames: workloadLabels,
    registers,
  });
  const omitted = new Gauge({
    name: 'svc_request_metrics_omitted',
    help: 'Workloads whose requests are not counted, because there are too many.',
    registers,
  });
  const counts = new Map<string, number>();
  let total = 0;

  /** Takes or gives back a place of a namespace. */
  const count = (namespace: string, change: 1 | -1) => {
    const next = (counts.get(namespace) ?? 0) + change;
    total += change;
    if (next === 0) counts.delete(namespace);
    else counts.set(namespace, next);
  };

  return {
    of({ namespace, kind, name }) {
      if (total >= limits.total || (counts.get(namespace) ?? 0) >= limits.perNamespace) {
        omitted.inc();
        let isOmitted = true;
        const forget = () => {
          if (isOmitted) omitted.dec();
          isOmitted = false;
        };
        return { ...noFigures, forget };
      }
      count(namespace, 1);
      const labels = { namespace, kind, name };
      const counters = new Map<string, { inc(): void }>();
      let durations: { observe(seconds: number): void } | undefined;
      let forgotten = false;
      return {
        ended(status, seconds) {
          if (forgotten) return;
          const code = statusClass(status);
          let counter = counters.get(code);
          if (!counter) counters.set(code, (counter = requests.labels({ ...labels, code })));
          counter.inc();
          durations ??= duration.labels(labels);
          durations.observe(seconds);
        },
        coldStart() {
          if (!forgotten) coldStarts.inc(labels);
        },
        forget() {
          if (forgotten) return;
          forgotten = true;
          count(namespace, -1);
          for (const code of counters.keys()) requests.remove({ ...labels, code });
          duration.remove(labels);
          coldStarts.remove(labels);
        },
      };
    },
  };
}
