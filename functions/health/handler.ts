import type { Pool } from 'pg';
import type { Registry } from 'prom-client';
import { z } from 'zod';
import { controllerHealth, type ControllerHealth } from '../../runtime/contracts/api/health.ts';
import { route, type Route } from '../../runtime/host/route.ts';
import { readControllerReport } from '../../runtime/records/controller-reports.ts';

/** The leader reports every few seconds; a report older than this proves nothing. */
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

/** What svc-controllers last reported, judged: healthy only when everything is up and the report is fresh. */
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

/** `/health`, `/health/controllers` (spec.md §2.8, §4.4) and `/metrics`: outside the prefix, without a session. */
export function createHealthRoutes({ pool, registry }: HealthDependencies): Route[] {
  return [
    route({
      method: 'GET',
      path: '/health',
      access: 'public',
      summary: 'Answers while console-api works.',
      tag: 'health',
      replies: { 200: z.object({ status: z.literal('ok') }) },
      handle: () => Promise.resolve({ status: 200, body: { status: 'ok' } }),
    }),
    route({
      method: 'GET',
      path: '/health/controllers',
      access: 'public',
      summary: 'Tells whether the controllers work.',
      tag: 'health',
      replies: { 200: controllerHealth, 503: controllerHealth },
      async handle({ log }) {
        const health = await readControllerHealth(pool).catch((error: unknown) => {
          log.error({ err: error }, 'the controllers’ report cannot be read');
          return nothingReported;
        });
        return { status: health.healthy ? 200 : 503, body: health };
      },
    }),
    route({
      method: 'GET',
      path: '/metrics',
      access: 'public',
      summary: 'Metrics of console-api in the format of Prometheus.',
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
