import { Counter, type Registry } from 'prom-client';
import type { Sidecar } from './identify.ts';

export interface DeliveryMetrics {
  /** What became of deliveries of a function's events. */
  delivered(of: Sidecar, outcome: 'taken' | 'failed' | 'given_up', count: number): void;
}

/** What became of deliveries by sidecars, told or not, by function. What is told twice counts once. */
export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const deliveries = new Counter({
    name: 'function_event_deliveries_total',
    help: 'Deliveries of events: taken by the function, failed (to be tried again), or given up (a dead letter).',
    labelNames: ['namespace', 'function', 'outcome'],
    registers: [registry],
  });
  return {
    delivered({ namespace, name }, outcome, count) {
      if (count > 0) deliveries.inc({ namespace, function: name, outcome }, count);
    },
  };
}
