import { Counter, type Registry } from 'prom-client';
import type { Sidecar } from './identify.ts';

/** The metrics of event delivery. */
export interface DeliveryMetrics {
  /** Counts the outcomes of deliveries of a function's events. */
  delivered(of: Sidecar, outcome: 'taken' | 'failed' | 'given_up', count: number): void;
}

/** Outcomes of deliveries by function. A repeated report counts once. */
export function createDeliveryMetrics(registry: Registry): DeliveryMetrics {
  const deliveries = new Counter({
    name: 'function_event_deliveries_total',
    help: 'Deliveries of events by outcome: taken by the function, failed (retried later), or given up (a dead letter).',
    labelNames: ['namespace', 'function', 'outcome'],
    registers: [registry],
  });
  return {
    delivered({ namespace, name }, outcome, count) {
      if (count > 0) deliveries.inc({ namespace, function: name, outcome }, count);
    },
  };
}
