import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import { createRequestMetrics } from '../../runtime/metrics/request-metrics.ts';
import type { Target } from './routes.ts';

/** The labels of a function. */
type Named = Pick<Target, 'namespace' | 'name'>;

/** The metrics of one function. */
export interface FunctionFigures {
  /**
   * Records the end of a request.
   * @param result `answered`, `client_gone`, or the code of the failure
   * @param status the response's; 499 when the client disconnected before it
   * @param seconds from its arrival to the end of its response
   */
  ended(result: string, status: number, seconds: number): void;
  /** Records the seconds from a held request's arrival to the pod's first byte. */
  coldStart(seconds: number): void;
}

export interface InterceptorMetrics {
  /**
   * Call when a request arrives: the metrics of a function that is deleted before the request ends are then not created
   * again.
   */
  of(target: Named): FunctionFigures;
  /** Counts a request whose host has no function. */
  unrouted(result: string): void;
  /** Removes the metrics of a deleted function. */
  forget(target: Named): void;
}

const functionLabels = ['namespace', 'function'] as const;

/** The metrics of one function, looked up once. */
interface Series extends FunctionFigures {
  forget(): void;
}

/** The metrics of the interceptor and of the functions. `inflight` and `waiting` are called for every scrape. */
export function createInterceptorMetrics(
  registry: Registry,
  current: { inflight(): number; waiting(): number },
): InterceptorMetrics {
  const registers = [registry];
  const inflight: Gauge = new Gauge({
    name: 'interceptor_inflight_requests',
    help: 'Requests being held or forwarded.',
    registers,
    collect: () => inflight.set(current.inflight()),
  });
  const waiting: Gauge = new Gauge({
    name: 'interceptor_held_requests',
    help: 'Requests waiting for a pod.',
    registers,
    collect: () => waiting.set(current.waiting()),
  });
  const requestsTotal = new Counter({
    name: 'interceptor_requests_total',
    help: 'Requests, by result.',
    labelNames: ['result'],
    registers,
  });
  const requests = new Counter({
    name: 'function_requests_total',
    help: 'Requests of a function, by result and status class (4xx; 499 for a client that disconnected).',
    labelNames: [...functionLabels, 'result', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'function_request_duration_seconds',
    help: 'Seconds from the arrival of a request to the end of its response.',
    labelNames: functionLabels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const coldStart = new Histogram({
    name: 'function_cold_start_seconds',
    help: 'Seconds from the arrival of a request that waited for a pod to the first byte of its response.',
    labelNames: functionLabels,
    buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 20, 30, 60],
    registers,
  });

  const workloads = createRequestMetrics(registry);
  const results = new Map<string, { inc(): void }>();
  const count = (result: string) => {
    let counter = results.get(result);
    if (!counter) results.set(result, (counter = requestsTotal.labels({ result })));
    counter.inc();
  };
  const seriesByKey = new Map<string, Series>();
  const keyOf = ({ namespace, name }: Named) => `${namespace}/${name}`;
  const seriesOf = (target: Named): Series => {
    const labels = { namespace: target.namespace, function: target.name };
    /** By status, because nearly all responses of one status have the same result. */
    const counters = new Map<number, { result: string; counter: { inc(): void } }>();
    const kinds = new Set<string>();
    const durations = duration.labels(labels);
    const workload = workloads.of({ ...target, kind: 'function' });
    let forgotten = false;
    return {
      ended(result, status, seconds) {
        count(result);
        if (forgotten) return;
        let entry = counters.get(status);
        if (entry?.result !== result) {
          const statusClass = status === 499 ? '499' : `${Math.floor(status / 100)}xx`;
          entry = { result, counter: requests.labels({ ...labels, result, status: statusClass }) };
          counters.set(status, entry);
          kinds.add(`${result} ${statusClass}`);
        }
        entry.counter.inc();
        durations.observe(seconds);
        workload.ended(status, seconds);
      },
      coldStart(seconds) {
        if (forgotten) return;
        coldStart.observe(labels, seconds);
        workload.coldStart();
      },
      forget() {
        forgotten = true;
        workload.forget();
        duration.remove(labels);
        coldStart.remove(labels);
        for (const kind of kinds) {
          const [result = '', status = ''] = kind.split(' ');
          requests.remove({ ...labels, result, status });
        }
      },
    };
  };

  return {
    of(target) {
      const key = keyOf(target);
      const current = seriesByKey.get(key);
      if (current) return current;
      const series = seriesOf(target);
      seriesByKey.set(key, series);
      return series;
    },
    unrouted: count,
    forget(target) {
      seriesByKey.get(keyOf(target))?.forget();
      seriesByKey.delete(keyOf(target));
    },
  };
}
