import { collectDefaultMetrics, Registry } from 'prom-client';

/** The library's 10 ms would be a hundred wake-ups a second: half of what a process at rest costs. */
const eventLoopMonitoringPrecision = 100;

/**
 * A process's own registry, with the runtime's metrics (memory, event loop, garbage collection). The event loop is looked
 * at every 100 ms, and by Node's way of counting these are part of `nodejs_eventloop_lag_*_seconds`.
 */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision });
  return registry;
}
