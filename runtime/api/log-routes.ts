import { environmentQuery } from '../contracts/api/common.ts';
import { logLines, logLinesQuery } from '../contracts/api/logs.ts';
import type { Clock } from '../domain/clock.ts';
import type { Id } from '../domain/ids.ts';
import type { Route } from '../http/route.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf, type WorkloadObject } from '../workloads/objects.ts';
import { logReply } from './log-reply.ts';
import type { ObjectRoutes } from './object-routes.ts';

/** `GET …/logs` of apps, functions and jobs: the same route for each, except for the pods that it reads. */
export function logRoute<T extends WorkloadObject>(
  objects: ObjectRoutes<T>,
  { kube, clock }: { kube: Pick<KubeClient, 'list' | 'stream'>; clock: Clock },
  { container, podsOf, summary }: { container: string; podsOf: (workload: Id) => string; summary: string },
): Route {
  return objects.route({
    method: 'GET',
    path: '/logs',
    access: { project: 'viewer', scope: 'logs:read' },
    summary,
    query: environmentQuery.extend(logLinesQuery.shape),
    replies: { 200: logLines },
    async handle(request) {
      const labelSelector = podsOf(workloadIdOf(await request.find()));
      return logReply({ kube, clock }, { namespace: request.environment.namespace, labelSelector, container }, request);
    },
  });
}
