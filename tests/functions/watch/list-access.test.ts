import t from 'tap';
import { mayList } from '../../../functions/watch/list-access.ts';
import type { WatchKind } from '../../../runtime/contracts/api/watch.ts';
import { includesScope, tokenScopes } from '../../../runtime/domain/token-scopes.ts';
import { includesRole } from '../../../runtime/domain/roles.ts';
import { declaredRoutes } from '../all-routes.ts';

/** The list that shows a kind. */
const lists: Readonly<Record<WatchKind, string>> = {
  Project: '/projects/:project',
  App: '/projects/:project/apps',
  Function: '/projects/:project/functions',
  Job: '/projects/:project/jobs',
  Service: '/projects/:project/services',
  Volume: '/projects/:project/volumes',
  Deployment: '/projects/:project/deployments',
  WebhookDelivery: '/projects/:project/apps/:app/webhook/deliveries',
  Event: '/projects/:project/functions/:function/events',
  Plan: '/projects/:project/plans',
  Key: '/projects/:project/api-keys',
  Member: '/projects/:project/members',
  Notification: '/projects/:project/notifications',
};

t.test('a stream names what its caller may list, and nothing else', async (t) => {
  const { routes } = await declaredRoutes();
  for (const [kind, path] of Object.entries(lists) as [WatchKind, string][]) {
    const access = routes.find((route) => route.method === 'GET' && route.path === path)?.access;
    if (typeof access !== 'object') throw new Error(`${path} is no list of a project`);
    const { project, scope } = access;
    for (const role of ['viewer', 'deployer', 'admin'] as const) {
      const may = includesRole(role, project);
      t.equal(mayList(kind, role, undefined), may, `${role}: ${kind}`);
      for (const one of tokenScopes) {
        const opens = may && scope !== undefined && includesScope([one], scope);
        t.equal(mayList(kind, role, [one]), opens, `${role} with a token for ${one}: ${kind}`);
      }
    }
  }
});
