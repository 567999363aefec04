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

/** Where the requests of one function are counted. */
export interface FunctionFigures {
  /** A request is over. */
  ended(ending: Ending): void;
  /** Seconds from a held request's arrival to the pod's first byte. */
  coldStart(seconds: number): void;
}

export interface InterceptorMetrics {
  /** To be asked when a request comes: those of a function that is forgotten by its end stay forgotten. */
  of(target: Named): FunctionFigures;
  /** A request whose host leads to no function. */
  unrouted(result: string): void;
  /** Drops the figures of a function that is gone. */
  forget(target: Named): void;
}

const functionLabels = ['namespace', 'function'] as const;

/** The figures of one function, looked up once. */
interface Series extends FunctionFigures {
  forget(): void;
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
    const labels = { namespace: target.namespace, function: target.name };
    const counters = new Map<string, { inc(): void }>();
    const durations = duration.labels(labels);
    let forgotten = false;
    return {
      ended({ result, status, seconds }) {
        all.inc({ result });
        if (forgotten) return;
        const statusClass = status === 499 ? '499' : `${Math.floor(status / 100)}xx`;
        const kind = `${result} ${statusClass}`;
        let counter = counters.get(kind);
        if (!counter) {
          counter = requests.labels({ ...labels, result, status: statusClass });
          counters.set(kind, counter);
        }
        counter.inc();
        durations.observe(seconds);
      },
      coldStart(seconds) {
        if (!forgotten) coldStart.observe(labels, seconds);
      },
      forget() {
        forgotten = true;
        duration.remove(labels);
        coldStart.remove(labels);
        for (const kind of counters.keys()) {
          const [result = '', status = ''] = kind.split(' ');
          requests.remove({ ...labels, result, status });
        }
      },
    };
  };

  return {
    of(target) {
      const key = keyOf(target);
      const found = known.get(key);
      if (found) return found;
      const made = seriesOf(target);
      known.set(key, made);
      return made;
    },
    unrouted: (result) => all.inc({ result }),
    forget(target) {
      known.get(keyOf(target))?.forget();
      known.delete(keyOf(target));
    },
  };
}
