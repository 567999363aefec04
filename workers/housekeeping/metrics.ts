import type { Pool } from 'pg';
import { Gauge, type Registry } from 'prom-client';
import { readPlatformTotals, type PlatformTotals } from '../../runtime/records/platform-totals.ts';

/** Registers gauges of the whole platform; they are empty while the database fails. */
export function watchPlatform(registry: Registry, pool: Pool): void {
  let query: Promise<PlatformTotals | undefined> | undefined;
  // The gauges of one scrape share a query.
  const totals = () =>
    (query ??= readPlatformTotals(pool)
      .catch(() => undefined)
      .finally(() => (query = undefined)));
  const registers = [registry];
  const apps: Gauge = new Gauge({
    name: 'svc_recent_deployment_apps',
    help: 'Apps with a deployment that ended in the last 30 minutes, by its outcome.',
    labelNames: ['outcome'],
    registers,
    async collect() {
      const row = await totals();
      apps.reset();
      if (!row) return;
      apps.set({ outcome: 'failed' }, row.failedApps);
      apps.set({ outcome: 'succeeded' }, row.succeededApps);
    },
  });
  const size: Gauge = new Gauge({
    name: 'svc_database_size_bytes',
    help: 'Size of all databases of the platform’s PostgreSQL.',
    registers,
    async collect() {
      const row = await totals();
      size.reset();
      if (row) size.set(row.databaseBytes);
      else size.remove();
    },
  });
}
