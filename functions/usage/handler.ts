import type { UsageCounts } from '../../runtime/contracts/api/usage.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { usageWindow } from '../../runtime/domain/usage-window.ts';
import { createLocateKey, type LocateKeyDependencies } from '../../runtime/api/locate-key.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { listUsage } from '../../runtime/records/usage.ts';
import { readUsageSchema } from './schema.ts';

export type UsageDependencies = LocateKeyDependencies & { clock: Clock };

/** The usage of a key by UTC day (docs/reference/api.md#usage). */
export function createUsageRoutes(dependencies: UsageDependencies): Route[] {
  const { pool, clock } = dependencies;
  const locate = createLocateKey(dependencies);

  const read = route({
    method: 'GET',
    path: '/projects/:project/api-keys/:key/usage',
    access: { project: 'viewer', scope: 'read' },
    summary: 'Shows the usage of an API key by UTC day, for up to the last 92 days.',
    tag: 'usage',
    ...readUsageSchema,
    async handle({ params, query }) {
      const { record } = await locate(params.project, params.key, query.environment);
      const window = usageWindow(query, clock.now());
      const days = await listUsage(pool, record.id, window);
      return { status: 200, body: { ...window, totals: totalsOf(days), days } };
    },
  });

  return [read];
}

function totalsOf(days: readonly UsageCounts[]): UsageCounts {
  const totals = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
  for (const { allowed, rateDenied, quotaDenied } of days) {
    totals.allowed += allowed;
    totals.rateDenied += rateDenied;
    totals.quotaDenied += quotaDenied;
  }
  return totals;
}
