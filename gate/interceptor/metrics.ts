import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { Target } from './routes.ts';

/** What has a name among the functions. */
type Named = Pick<Target, 'namespace' | 'name'>;

/** Where the requests of one function are counted. */
export interface FunctionFigures {
  /**
   * A request is over.
   * @param result `answered`, `client_gone`, or the code of the failure
   * @param status that the client got; 499 for one that left before
   * @param seconds from its arrival to the end of its answer
   */
  ended(result: string, status: number, seconds: number): void;
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

  const results = new Map<string, { inc(): void }>();
  const count = (result: string) => {
    let counter = results.get(result);
    if (!counter) results.set(result, (counter = all.labels({ result })));
    counter.inc();
  };
  const known = new Map<string, Series>();
  const keyOf = ({ namespace, name }: Named) => `${namespace}/${name}`;
  const seriesOf = (target: Named): Series => {
    const labels = { namespace: target.namespace, function: target.name };
    /** By status, since nearly all of one status end alike. */
    const counters = new Map<number, { result: string; counter: { inc(): void } }>();
    const kinds = new Set<string>();
    const durations = duration.labels(labels);
    let forgotten = false;
    return {
      ended(result, status, seconds) {
        count(result);
        if (forgotten) return;
        let known = counters.get(status);
        if (known?.result !== result) {
          const statusClass = status === 499 ? '499' : `${Math.floor(status / 100)}xx`;
          known = { result, counter: requests.labels({ ...labels, result, status: statusClass }) };
          counters.set(status, known);
          kinds.add(`${result} ${statusClass}`);
        }
        known.counter.inc();
        durations.observe(seconds);
      },
      coldStart(seconds) {
        if (!forgotten) coldStart.observe(labels, seconds);
      },
      forget() {
        forgotten = true;
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
      const found = known.get(key);
      if (found) return found;
      const made = seriesOf(target);
      known.set(key, made);
      return made;
    },
    unrouted: count,
    forget(target) {
      known.get(keyOf(target))?.forget();
      known.delete(keyOf(target));
    },
  };
}
