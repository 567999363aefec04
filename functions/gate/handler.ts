import type { Pool } from 'pg';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { route, type Route } from '../../runtime/http/route.ts';
import { findChange, listGateReplicas, readFeedVersion } from '../../runtime/records/gate.ts';
import { isSettled, replicaTimeoutMs, progressOf, statusOf } from './progress.ts';
import { readChangeSchema, readStatusSchema } from './schema.ts';

export interface GateDependencies {
  pool: Pool;
  clock: Clock;
}

/** Interval of reads while a client waits, in ms. */
const pollMs = 100;

/** The progress of changes to plans and keys through the replicas of the checker. */
export function createGateRoutes({ pool, clock }: GateDependencies): Route[] {
  const change = route({
    method: 'GET',
    path: '/gate/changes/:version',
    access: 'session',
    summary: 'Shows which replicas of the checker have applied a change. With `wait`, waits for all of them.',
    tag: 'gate',
    ...readChangeSchema,
    async handle({ params: { version }, query: { wait }, signal }) {
      const deadline = clock.monotonic() + wait * 1000;
      const at = await findChange(pool, version);
      if (!at) throw new Problem('not_found', `The gate's feed has no change ${version}. Old changes are removed.`);
      for (;;) {
        const replicas = await listGateReplicas(pool, replicaTimeoutMs);
        const remaining = deadline - clock.monotonic();
        if (remaining <= 0 || signal.aborted || isSettled(replicas, version)) {
          return { status: 200, body: progressOf(replicas, version, at) };
        }
        await clock.sleep(Math.min(pollMs, remaining), signal).catch(() => undefined);
      }
    },
  });

  const status = route({
    method: 'GET',
    path: '/gate/status',
    access: 'platform-admin',
    summary: 'Shows the position of each replica of the checker in the change feed.',
    tag: 'gate',
    ...readStatusSchema,
    async handle() {
      // Read first, so that a change between the two reads makes no replica look behind.
      const version = await readFeedVersion(pool);
      return { status: 200, body: statusOf(await listGateReplicas(pool, replicaTimeoutMs), version) };
    },
  });

  return [change, status];
}
