import { idLabel } from '../../runtime/domain/labels.ts';
import { logAnswer } from '../../runtime/host/log-answer.ts';
import { route, type Route } from '../../runtime/host/route.ts';
import { getWorkload, workloadIdOf } from '../../runtime/host/workload-objects.ts';
import { resolveEnvironment } from '../../runtime/kube/environments.ts';
import type { FunctionDependencies } from './handler.ts';
import { functionLogsSchema } from './schema.ts';

/** `/projects/{p}/functions/{f}/logs`: what a function's pods print, those of requests, schedule and test runs alike. */
export function logRoutes({ kube, clock }: Pick<FunctionDependencies, 'kube' | 'clock'>): Route[] {
  return [
    route({
      ...functionLogsSchema,
      method: 'GET',
      path: '/projects/:project/functions/:function/logs',
      access: { project: 'viewer' },
      tag: 'functions',
      summary:
        'Shows what the pods of a function printed, by time, as far back as they are kept; with `follow` as lines of JSON that go on.',
      async handle(request) {
        const { params, query } = request;
        const environment = await resolveEnvironment(kube, params.project, query.environment);
        const found = await getWorkload(kube, 'Function', environment, params.function);
        const labelSelector = `${idLabel}=${workloadIdOf(found)}`;
        const source = { namespace: environment.namespace, labelSelector, container: 'function' };
        return logAnswer({ kube, clock }, source, request);
      },
    }),
  ];
}
