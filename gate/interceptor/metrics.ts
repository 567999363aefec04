import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Target } from './routes.ts';

/** What has a name among the functions. */
type Named = Pick<Target, 'namespace' | 'name'>;

/** How a request of a function ended. */
export interface Ending {
  /** `answered`, `client_gone`, or the code of the failure. */
  result: string;
  /** The status that the client got; 499 for one that left before. */
  status: number;
  /** From its arrival to the end of its answer. */
  seconds: number;
}

export interface InterceptorMetrics {
  /** A request is over. */
  ended(target: Named, ending: Ending): void;
  /** A request whose host leads to no function. */
  unrouted(result: string): void;
  /** Seconds from a held request's arrival to the pod's first byte. */
  coldStart(target: Named, seconds: number): void;
  /** Drops the figures of a function that is gone. */
  forget(target: Named): void;
}

const functionLabels = ['namespace', 'function'] as const;

/** The figures of one function, looked up once. */
interface Series {
  requests: Map<string, { inc(): void }>;
  duration: { observe(seconds: number): void };
  labels: { namespace: string; function: string };
}

/** The interceptor's own metrics and those of the functions. `inflight` and `waiting` are asked at every scrape. */
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
  const all = new Counter({
    name: 'interceptor_requests_total',
    help: 'Requests by how they ended.',
    labelNames: ['result'],
    registers,
  });
  const requests = new Counter({
    name: 'function_requests_total',
    help: 'Requests of a function by how they ended and the class of the status (4xx; 499 for a client that left).',
    labelNames: [...functionLabels, 'result', 'status'],
    registers,
  });
  const duration = new Histogram({
    name: 'function_request_duration_seconds',
    help: "From a request's arrival to the end of its answer.",
    labelNames: functionLabels,
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers,
  });
  const coldStart = new Histogram({
    name: 'function_cold_start_seconds',
    help: 'From the arrival of a request that had to wait for a pod to its first byte.',
    labelNames: functionLabels,
    buckets: [0.1, 0.25, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7.5, 10, 20, 30, 60],
    registers,
  });

  const known = new Map<string, Series>();
  const keyOf = ({ namespace, name }: Named) => `${namespace}/${name}`;
  const seriesOf = (target: Named): Series => {
    const key = keyOf(target);
    const found = known.get(key);
    if (found) return found;
    const labels = { namespace: target.namespace, function: target.name };
    const made = { labels, requests: new Map(), duration: duration.labels(labels) };
    known.set(key, made);
    return made;
  };

  return {
    ended(target, { result, status, seconds }) {
      all.inc({ result });
      const series = seriesOf(target);
      const statusClass = status === 499 ? '499' : `${Math.floor(status / 100)}xx`;
      const kind = `${result} ${statusClass}`;
      let counter = series.requests.get(kind);
      if (!counter) {
        counter = requests.labels({ ...series.labels, result, status: statusClass });
        series.requests.set(kind, counter);
      }
      counter.inc();
      series.duration.observe(seconds);
    },
    unrouted: (result) => all.inc({ result }),
    coldStart: (target, seconds) => coldStart.observe(seriesOf(target).labels, seconds),
    forget(target) {
      const series = known.get(keyOf(target));
      if (!series) return;
      known.delete(keyOf(target));
      duration.remove(series.labels);
      coldStart.remove(series.labels);
      for (const kind of series.requests.keys()) {
        const [result = '', status = ''] = kind.split(' ');
        requests.remove({ ...series.labels, result, status });
      }
    },
  };
}
