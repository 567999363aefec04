import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { KeyQueue } from './key-queue.ts';

/**
 * The result of a reconcile, in controller-runtime's terms, and `refused` for a mistake of a user, which is no error: see
 * {@link isRefusal}.
 */
export type ReconcileResult = 'success' | 'error' | 'requeue' | 'requeue_after' | 'refused';

/** Metrics with controller-runtime's names, so that its dashboards and alert rules work (docs/reference/metrics.md#controllers). */
export interface ControllerMetrics {
  /** Initializes a controller's series with 0, so that the first increase is visible. */
  register(controller: string, queue: Pick<KeyQueue, 'depth' | 'longestRunningMs'>): void;
  observe(controller: string, result: ReconcileResult, seconds: number): void;
}

const results: readonly ReconcileResult[] = ['success', 'error', 'requeue', 'requeue_after', 'refused'];

export function createControllerMetrics(registry: Registry): ControllerMetrics {
  const queues = new Map<string, Pick<KeyQueue, 'depth' | 'longestRunningMs'>>();
  const registers = [registry];
  const total = new Counter({
    name: 'controller_runtime_reconcile_total',
    help: 'Reconciles.',
    labelNames: ['controller', 'result'],
    registers,
  });
  const errors = new Counter({
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Failed reconciles.',
    labelNames: ['controller'],
    registers,
  });
  const time = new Histogram({
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'Duration of reconciles.',
    labelNames: ['controller'],
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers,
  });
  const depth = new Gauge({
    name: 'workqueue_depth',
    help: 'Keys that wait for a worker.',
    labelNames: ['name', 'controller'],
    registers,
    collect() {
      for (const [name, queue] of queues) depth.set({ name, controller: name }, queue.depth());
    },
  });
  const longest = new Gauge({
    name: 'workqueue_longest_running_processor_seconds',
    help: 'Age of the longest running reconcile.',
    labelNames: ['name', 'controller'],
    registers,
    collect() {
      for (const [name, queue] of queues) longest.set({ name, controller: name }, queue.longestRunningMs() / 1000);
    },
  });

  return {
    register(controller, queue) {
      queues.set(controller, queue);
      for (const result of results) total.inc({ controller, result }, 0);
      errors.inc({ controller }, 0);
    },
    observe(controller, result, seconds) {
      total.inc({ controller, result });
      if (result === 'error') errors.inc({ controller });
      time.observe({ controller }, seconds);
    },
  };
}
