import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { listEventTotals, type EventTotals } from '../../runtime/records/event-loads.ts';

/** From then on each scrape counts the events of every function with a data source; without an answer there are none. */
export function watchEvents(registry: Registry, pool: Pool): void {
  let looking: Promise<EventTotals[]> | undefined;
  // The gauges of one scrape share a query.
  const look = () =>
    (looking ??= listEventTotals(pool)
      .catch(() => [])
      .finally(() => (looking = undefined)));
  const gauge = (name: string, help: string, value: (totals: EventTotals) => number) => {
    const each: Gauge = new Gauge({
      ...{ name, help, labelNames: ['namespace', 'function'], registers: [registry] },
      async collect() {
        const totals = await look();
        each.reset();
        for (const found of totals) each.set({ namespace: found.namespace, function: found.name }, value(found));
      },
    });
  };
  gauge('function_events_backlog', 'Events that are to be delivered, at most 1,000.', ({ backlog }) => backlog);
  gauge(
    'function_events_oldest_seconds',
    'For how long the longest known event has been waiting for its delivery.',
    ({ oldestSeconds }) => oldestSeconds,
  );
  gauge(
    'function_events_unmarked',
    'Events that were delivered and are to be marked as done in their source.',
    ({ unmarked }) => unmarked,
  );
  gauge('function_dead_letters', 'Events that were given up.', ({ dead }) => dead);
}
