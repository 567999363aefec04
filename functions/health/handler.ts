import type { Pool } from 'pg';
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

/** `/health` and `/health/controllers` (docs/reference/metrics.md#health), without a session. */
export function createHealthRoutes({ pool }: HealthDependencies): Route[] {
  /** All requests share the read that is in progress, so that many of them do not take the database's connections. */
  let reading: Promise<ControllerHealth> | undefined;
  const readShared = () => {
    reading ??= readControllerHealth(pool).finally(() => {
      reading = undefined;
    });
    return reading;
  };

  return [
    route({
      method: 'GET',
      path: '/health',
      access: 'public',
      unlimited: true,
      summary: 'Returns 200 while console-api works.',
      tag: 'health',
      replies: { 200: z.object({ status: z.literal('ok') }) },
      handle: () => Promise.resolve({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      method: 'GET',
      path: '/health/controllers',
      access: 'public',
      unlimited: true,
      summary: 'Shows whether the controllers work.',
      tag: 'health',
      replies: { 200: controllerHealth, 503: controllerHealth },
      async handle({ log }) {
        const health = await readShared().catch((error: unknown) => {
          log.error({ err: error }, 'cannot read the controllers’ report');
          return nothingReported;
        });
        return { status: health.healthy ? 200 : 503, body: health };
      },
    }),
  ];
}
