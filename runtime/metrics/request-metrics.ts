import { Counter, Histogram, type Registry } from 'prom-client';
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
  /** The figures of a workload, whose series appear with its first request. Keep it: a call is not cheap. */
  of(workload: { kind: MetricKind; namespace: string; name: string }): RequestFigures;
}

const workloadLabels = ['namespace', 'kind', 'name'] as const;

/** The metrics of requests to workloads, under the same names wherever requests pass. */
export function createRequestMetrics(registry: Registry): RequestMetrics {
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
  return {
    of({ namespace, kind, name }) {
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
          forgotten = true;
          for (const code of counters.keys()) requests.remove({ ...labels, code });
          duration.remove(labels);
          coldStarts.remove(labels);
        },
      };
    },
  };
}
