import { collectDefaultMetrics, Registry } from 'prom-client';

/** A process's own registry, with the runtime's metrics (memory, event loop, garbage collection). */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
