import { collectDefaultMetrics, Registry } from 'prom-client';

/** The library's default of 10 ms would wake the process 100 times a second, half of its CPU time when idle. */
const eventLoopMonitoringPrecision = 100;

/**
 * The registry of a process, with the metrics of the runtime (memory, event loop, garbage collection). The event loop
 * is sampled every 100 ms, an interval that Node includes in `nodejs_eventloop_lag_*_seconds`.
 */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  return registry;
}
