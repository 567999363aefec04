import { z } from 'zod';
import { platformNotificationCreate, platformNotificationUpdate } from '../../runtime/contracts/api/notifications.ts';
import type { AuditAction } from '../../runtime/domain/audit.ts';
import { platformTargets } from '../../runtime/domain/notification.ts';
import type { Route } from '../../runtime/http/route.ts';

const prefix = '/projects/:project/notifications';
/** The bodies that differ: alerts have other events, and no apps and environments. */
const bodies: Readonly<Record<string, z.ZodType>> = {
  POST: platformNotificationCreate,
  PATCH: platformNotificationUpdate,
};

/** The route for a target of the platform that corresponds to one for a target of a project. Only platform admins may call it. */
export function platformRoute(route: Route): Route {
  const { method, path, params, audit, summary } = route;
  if (!path.startsWith(prefix) || !(params instanceof z.ZodObject)) throw new Error(`${path} is no route of a target`);
  const rest = path.slice(prefix.length);
  const own = route.body && bodies[method];
  return {
    ...route,
    path: `/platform/notifications${rest}`,
    access: 'platform-admin',
    tag: 'platform',
    summary: summary.replace('of a project', 'of the platform'),
    ...(audit !== undefined && { audit: `platform.${audit}` as AuditAction }),
    params: params.omit({ project: true }),
    ...(own && { body: own }),
    handle: (request) =>
      route.handle({
        ...request,
        params: { ...(request.params as object), project: '' },
        grant: { projectId: platformTargets, role: 'admin' },
      }),
  };
}
