import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route } from '../../runtime/host/route.ts';
import { findChange, listGateReplicas, readFeedVersion } from '../../runtime/records/gate.ts';
import { isSettled, mayServeMs, progressOf, statusOf } from './progress.ts';
import { readChangeSchema, readStatusSchema } from './schema.ts';

export interface GateDependencies {
  pool: Pool;
  clock: Clock;
}

/** Between two looks while a client waits. */
const lookEveryMs = 100;

/** How far the checkers have applied what plans and keys were changed to. */
export function createGateRoutes({ pool, clock }: GateDependencies): Route[] {
  const change = route({
    method: 'GET',
    path: '/gate/changes/:version',
    access: 'session',
    summary: 'Tells which replicas of the checker have applied a change, and waits for them when asked to.',
    tag: 'gate',
    ...readChangeSchema,
    async handle({ params: { version }, query: { wait }, signal }) {
      const deadline = clock.monotonic() + wait * 1000;
      const at = await findChange(pool, version);
      if (!at) throw new Problem('not_found', `The gate's feed has no change ${version}, or no longer.`);
      for (;;) {
        const replicas = await listGateReplicas(pool, mayServeMs);
        const left = deadline - clock.monotonic();
        if (left <= 0 || signal.aborted || isSettled(replicas, version)) {
          return { status: 200, body: progressOf(replicas, version, at) };
        }
        await clock.sleep(Math.min(lookEveryMs, left), signal).catch(() => undefined);
      }
    },
  });

  const status = route({
    method: 'GET',
    path: '/gate/status',
    access: 'platform-admin',
    summary: 'Tells where every replica of the checker stands in the change feed.',
    tag: 'gate',
    ...readStatusSchema,
    async handle() {
      // The head first: no replica seems behind for a change that came between the two reads.
      const version = await readFeedVersion(pool);
      return { status: 200, body: statusOf(await listGateReplicas(pool, mayServeMs), version) };
    },
  });

  return [change, status];
}
