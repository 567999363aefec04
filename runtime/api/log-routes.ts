import { environmentQuery } from '../contracts/api/common.ts';
import { logLines, logLinesQuery } from '../contracts/api/logs.ts';
import type { Id } from '../domain/ids.ts';
import { sessionOf, type Route } from '../http/route.ts';
import { workloadIdOf, type WorkloadObject } from '../workloads/objects.ts';
import type { LogKind } from '../logs/record.ts';
import { createLogServices, logReply, type LogAccess, type LogServices } from './log-reply.ts';
import type { ObjectRoutes } from './object-routes.ts';

interface LogRouteOptions {
  /** What the log store calls the kind. */
  kind: LogKind;
  container: string;
  podsOf: (workload: Id) => string;
  summary: string;
}

/** `GET …/logs` of apps, functions and jobs: the same route for each, except for the pods that it reads. */
export function logRoute<T extends WorkloadObject>(
  objects: ObjectRoutes<T>,
  { kube, clock, logs = createLogServices() }: Pick<LogAccess, 'kube' | 'clock'> & { logs?: LogServices | undefined },
  { container, podsOf, summary, kind }: LogRouteOptions,
): Route {
  return objects.route({
    method: 'GET',
    path: '/logs',
    access: { project: 'viewer', scope: 'logs:read' },
    summary,
    query: environmentQuery.extend(logLinesQuery.shape),
    replies: { 200: logLines },
    async handle(request) {
      const { environment, name, query, signal } = request;
      const workload = await request.find();
      const { namespace, project } = environment;
      const source = {
        namespace,
        labelSelector: podsOf(workloadIdOf(workload)),
        container,
        workload: { kind, name, createdAt: new Date(workload.metadata.creationTimestamp ?? 0) },
      };
      return logReply({ kube, clock, logs }, source, { query, signal, user: sessionOf(request).userId, project });
    },
  });
}
