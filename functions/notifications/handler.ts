import type { Pool } from 'pg';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { alertEvents, notificationEvents, notificationSecretContext } from '../../runtime/domain/notification.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { seal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { newWebhookSecret } from '../../runtime/domain/standard-webhooks.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { projectIdOf, route, type Route, type RouteRequest } from '../../runtime/http/route.ts';
import { checkReceiver } from './check.ts';
import { deliveryRoutes } from './delivery-routes.ts';
import { platformRoute } from './platform-route.ts';
import {
  createNotificationSchema,
  deleteNotificationSchema,
  getNotificationSchema,
  listNotificationsSchema,
  rotateNotificationSchema,
  updateNotificationSchema,
} from './schema.ts';
import {
  deleteTarget,
  findTarget,
  insertTarget,
  listTargets,
  updateSecret,
  updateTarget,
  type Target,
  type TargetChanges,
} from './store.ts';
import { targetToView } from './view.ts';

export interface NotificationDependencies {
  pool: Pool;
  keyRing: KeyRing;
  /** The active settings of the installation. */
  readSettings: () => Promise<Pick<PlatformConfigSpec, 'notificationNetworks'>>;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'notifications';
const collection = '/projects/:project/notifications';
const path = `${collection}/:notification`;

type TargetRequest = Pick<
  RouteRequest<{ project: string; notification: string }, unknown, unknown>,
  'params' | 'grant'
>;

/**
 * `/projects/{project}/notifications`: signed requests to notification targets when a deployment ends; and
 * `/platform/notifications`: such requests when an alert begins or ends.
 */
export function createNotificationRoutes(dependencies: NotificationDependencies): Route[] {
  return [...targetRoutes(dependencies), ...targetRoutes(dependencies).map(platformRoute)];
}

/** The routes of the targets of a project, and of the platform, whose targets have a project id of their own. */
function targetRoutes(dependencies: NotificationDependencies): Route[] {
  const { pool, keyRing, readSettings, baseUrl } = dependencies;

  const find = async ({ params, grant }: TargetRequest): Promise<Target> => {
    const target = await findTarget(pool, projectIdOf({ grant }), params.notification);
    return target ?? notFound(params);
  };
  const receiver = async (url: string) => checkReceiver(url, (await readSettings()).notificationNetworks ?? []);
  // Only the origin of the URL: its path may contain a secret of the receiver.
  const auditOf = ({ id, name, url }: Target) => ({ notification: { id, name, origin: new URL(url).origin } });

  return [
    route({
      ...createNotificationSchema,
      method: 'POST',
      path: collection,
      access: { project: 'admin' },
      tag,
      summary: 'Creates a notification target. The response contains the signing secret, which is shown only once.',
      audit: 'notification.create',
      async handle(request) {
        const { params, body } = request;
        const [id, secret] = [newId(), newWebhookSecret()];
        const target = await insertTarget(pool, {
          id,
          projectId: projectIdOf(request),
          project: params.project,
          name: body.name,
          url: await receiver(body.url),
          secret: seal(keyRing, notificationSecretContext(id), secret),
          events: unique(body.events ?? (params.project === '' ? [...alertEvents] : [...notificationEvents])),
          apps: body.apps ? unique(body.apps) : null,
          environments: body.environments ? unique(body.environments) : null,
        });
        return { status: 201, body: { ...targetToView(target), secret }, audit: auditOf(target) };
      },
    }),
    route({
      ...listNotificationsSchema,
      method: 'GET',
      path: collection,
      access: { project: 'admin' },
      tag,
      summary: 'Lists the notification targets of a project by name.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const rows = await listTargets(pool, projectIdOf(request), { limit: limit + 1, after: cursor });
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ name }) => name, toItem: targetToView }) };
      },
    }),
    route({
      ...getNotificationSchema,
      method: 'GET',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Shows a notification target, by name or id, without its secret.',
      async handle(request) {
        return { status: 200, body: targetToView(await find(request)) };
      },
    }),
    route({
      ...updateNotificationSchema,
      method: 'PATCH',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Changes a notification target. Pending deliveries use the new settings.',
      audit: 'notification.update',
      async handle(request) {
        const { params, body } = request;
        if (Object.keys(body).length === 0)
          throw new Problem('invalid_request', 'The request changes nothing. Set a field.');
        const before = await find(request);
        const { url, events, apps, environments, name, enabled } = body;
        const changes: TargetChanges = {
          ...(name !== undefined && { name }),
          ...(enabled !== undefined && { enabled }),
          ...(url !== undefined && { url: await receiver(url) }),
          ...(events && { events: unique(events) }),
          ...(apps !== undefined && { apps: apps && unique(apps) }),
          ...(environments !== undefined && { environments: environments && unique(environments) }),
        };
        const after = (await updateTarget(pool, before, changes)) ?? notFound(params);
        return { status: 200, body: targetToView(after), audit: auditOf(after) };
      },
    }),
    route({
      ...rotateNotificationSchema,
      method: 'POST',
      path: `${path}/rotate`,
      access: { project: 'admin' },
      tag,
      summary:
        'Creates a new signing secret, which is shown only once. It signs all later attempts, including pending deliveries.',
      audit: 'notification.rotate',
      async handle(request) {
        const { id } = await find(request);
        const secret = newWebhookSecret();
        const sealed = seal(keyRing, notificationSecretContext(id), secret);
        const target = (await updateSecret(pool, id, sealed)) ?? notFound(request.params);
        return { status: 200, body: { ...targetToView(target), secret }, audit: auditOf(target) };
      },
    }),
    route({
      ...deleteNotificationSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a notification target and its pending deliveries.',
      audit: 'notification.delete',
      async handle(request) {
        const target = await find(request);
        await deleteTarget(pool, target.id);
        return { status: 204, audit: auditOf(target) };
      },
    }),
    ...deliveryRoutes({ pool, baseUrl, find }),
  ];
}

function notFound({ project, notification }: { project: string; notification: string }): never {
  if (project === '') {
    throw new Problem(
      'not_found',
      `The platform has no notification "${notification}". List them: svc platform notification list`,
    );
  }
  throw new Problem(
    'not_found',
    `The project "${project}" has no notification "${notification}". List the notifications with \`svc notification list\`.`,
  );
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
