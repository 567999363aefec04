import type { Clock } from '../../runtime/domain/clock.ts';
import { servingPods } from '../../runtime/domain/labels.ts';
import { findApp } from '../../runtime/host/app-request.ts';
import { logAnswer } from '../../runtime/host/log-answer.ts';
import { route, type Route } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { appLogsSchema } from './schema.ts';

/** `/projects/{p}/apps/{a}/logs`: what an app's pods print. */
export function logRoutes({ kube, clock }: { kube: KubeClient; clock: Clock }): Route[] {
  return [
    route({
      ...appLogsSchema,
      method: 'GET',
      path: '/projects/:project/apps/:app/logs',
      access: { project: 'viewer' },
      tag: 'apps',
      summary:
        'Shows what the pods of an app printed, by time; with `follow` as lines of JSON that go on, over rollouts and restarts.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        const { namespace = '' } = app.metadata;
        const source = { namespace, labelSelector: servingPods(workloadIdOf(app)), container: 'app' };
        return logAnswer({ kube, clock }, source, request);
      },
    }),
  ];
}
