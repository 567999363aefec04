import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { controllerHealth, type ControllerHealth } from '../../runtime/contracts/api/health.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { readControllerReport } from '../../runtime/records/controller-reports.ts';

/** The leader reports every few seconds; an older report is stale. */
const staleSeconds = 15;

const nothingReported: ControllerHealth = {
  healthy: false,
  managerStarted: false,
  cacheSynced: false,
  controllers: [],
};

export interface HealthDependencies {
  pool: Pool;
  registry: Registry;
}

/** The last report of svc-controllers; healthy only when all controllers work and the report is fresh. */
export async function readControllerHealth(pool: Pool): Promise<ControllerHealth> {
  const latest = await readControllerReport(pool);
  const parsed = controllerHealth.safeParse(latest?.report);
  if (!latest || !parsed.success) return nothingReported;
  const fresh = latest.ageSeconds <= staleSeconds;
  const { managerStarted, cacheSynced, controllers, healthy } = parsed.data;
  const registered = controllers.length > 0 && controllers.every((controller) => controller.registered);
  return {
    ...parsed.data,
    managerStarted: managerStarted && fresh,
    healthy: healthy && managerStarted && cacheSynced && registered && fresh,
  };
}

/** `/health`, `/health/controllers` and `/metrics` (docs/reference/metrics.md#health), without a session. */
export function createHealthRoutes({ pool, registry }: HealthDependencies): Route[] {
  return [
    route({
      method: 'GET',
      path: '/health',
      access: 'public',
      summary: 'Returns 200 while console-api works.',
      tag: 'health',
      replies: { 200: z.object({ status: z.literal('ok') }) },
      handle: () => Promise.resolve({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      method: 'GET',
      path: '/health/controllers',
      access: 'public',
      summary: 'Shows whether the controllers work.',
      tag: 'health',
      replies: { 200: controllerHealth, 503: controllerHealth },
      async handle({ log }) {
        const health = await readControllerHealth(pool).catch((error: unknown) => {
          log.error({ err: error }, 'cannot read the controllers’ report');
          return nothingReported;
        });
        return { status: health.healthy ? 200 : 503, body: health };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: 'public',
      summary: 'Shows the metrics of console-api in the Prometheus format.',
      tag: 'health',
      replies: { 200: z.string() },
      handle: async () => ({
        status: 200,
        headers: { 'Content-Type': registry.contentType },
        body: await registry.metrics(),
      }),
    }),
  ];
}
