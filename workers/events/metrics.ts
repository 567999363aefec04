import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { listEventTotals, type EventTotals } from '../../runtime/records/event-backlog.ts';

/** Registers gauges of the events of every function with a data source; they are empty while the database fails. */
export function watchEvents(registry: Registry, pool: Pool): void {
  let query: Promise<EventTotals[]> | undefined;
  // The gauges of one scrape share a query.
  const totals = () =>
    (query ??= listEventTotals(pool)
      .catch(() => [])
      .finally(() => (query = undefined)));
  const addGauge = (name: string, help: string, value: (totals: EventTotals) => number) => {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: ['namespace', 'function'],
      registers: [registry],
      async collect() {
        const rows = await totals();
        gauge.reset();
        for (const row of rows) gauge.set({ namespace: row.namespace, function: row.name }, value(row));
      },
    });
  };
  addGauge('function_events_backlog', 'Undelivered events, up to 1,000.', ({ backlog }) => backlog);
  addGauge(
    'function_events_oldest_seconds',
    'Age of the oldest undelivered event.',
    ({ oldestSeconds }) => oldestSeconds,
  );
  addGauge(
    'function_events_unmarked',
    'Delivered events that are not marked as done in their source yet.',
    ({ unmarked }) => unmarked,
  );
  addGauge('function_dead_letters', 'Dead letters.', ({ dead }) => dead);
}
