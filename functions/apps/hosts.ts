import { appView, extraHostsMax, hostsChange } from '../../runtime/contracts/api/apps.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { objectRoutes } from '../../runtime/api/object-routes.ts';
import { retryOnConflict } from '../../runtime/api/retry-on-conflict.ts';
import type { Route } from '../../runtime/http/route.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { ResolveTxt } from '../../runtime/workloads/host-admission.ts';
import { isRestartPending } from './restart-pending.ts';
import { withExtraHosts } from './routing.ts';
import { patchApp } from './store.ts';
import { appToView } from './view.ts';

interface Dependencies {
  kube: KubeClient;
  clock: Pick<Clock, 'now'>;
  resolveTxt?: ResolveTxt | undefined;
}

/** `PATCH /projects/{project}/apps/{app}/hosts` */
export function hostsRoute(
  apps: ReturnType<typeof objectRoutes<App>>,
  { kube, clock, resolveTxt }: Dependencies,
): Route {
  return apps.route({
    method: 'PATCH',
    path: '/hosts',
    access: { project: 'deployer', scope: 'write' },
    summary: 'Adds and removes additional hosts of an app. If one to add is taken, nothing changes.',
    audit: 'app.hosts',
    body: hostsChange,
    replies: { 200: appView },
    async handle({ body: { add = [], remove = [] }, environment, asker, findLiving }) {
      if (add.length + remove.length === 0) {
        throw new Problem('invalid_request', 'The request changes nothing. Name hosts to add or to remove.');
      }
      const first = await findLiving();
      const before = first.spec.extraHosts ?? [];
      const added = add.filter((host) => !before.includes(host));
      const write = () =>
        retryOnConflict(findLiving, (current) => {
          const extraHosts = changed(current.spec.extraHosts ?? [], { add, remove });
          // The claims are those of the app that was read first.
          const { uid } = first.metadata;
          return patchApp(kube, { ...current, metadata: { ...current.metadata, uid } }, { extraHosts }, 'unchanged');
        });
      const app = await withExtraHosts({ kube, now: clock.now(), asker, resolveTxt }, first, added, write);
      const pendingRestart = await isRestartPending(kube, app);
      return { status: 200, body: appToView(app, environment, { pendingRestart }), audit: { add, remove } };
    },
  });
}

/** @throws Problem `invalid_value` for too many hosts */
function changed(current: readonly string[], { add, remove }: { add: string[]; remove: string[] }): string[] {
  const hosts = [...new Set([...current.filter((host) => !remove.includes(host)), ...add])];
  if (hosts.length <= extraHostsMax) return hosts;
  const message = `An app has at most ${extraHostsMax} additional hosts; with these, it would have ${hosts.length}.`;
  throw new Problem('invalid_value', message, { details: { field: 'add' } });
}
