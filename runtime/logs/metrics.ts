import { Gauge, type Registry } from 'prom-client';
import type { LogStore } from './log-store.ts';

/** Registers the figures of a log store. */
export function registerLogMetrics(registry: Registry, store: Pick<LogStore, 'status'>): void {
  const gauge = (name: string, help: string, read: (gauge: Gauge) => void, labelNames: string[] = []) =>
    new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect() {
        read(this);
      },
    });
  gauge('svc_log_store_bytes', 'Bytes of the stored lines.', (bytes) => bytes.set(store.status().bytes));
  gauge('svc_log_store_max_bytes', 'Bytes beyond which the oldest lines are deleted.', (bytes) =>
    bytes.set(store.status().maxBytes),
  );
  gauge('svc_log_store_disk_full', '1 while lines cannot be written because the disk is full.', (full) =>
    full.set(store.status().diskFull ? 1 : 0),
  );
  gauge(
    'svc_log_store_dropped_lines',
    'Lines that were not stored since the start of the process, by reason.',
    (lines) => {
      for (const [reason, count] of Object.entries(store.status().dropped)) lines.set({ reason }, count);
    },
    ['reason'],
  );
}
