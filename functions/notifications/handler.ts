import type { Pool } from 'pg';
import type { PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { notificationEvents, notificationSecretContext } from '../../runtime/domain/notification.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { seal, type KeyRing } from '../../runtime/domain/sealed.ts';
import { newWebhookSecret } from '../../runtime/domain/standard-webhooks.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { projectIdOf, route, sessionOf, type Route, type RouteRequest } from '../../runtime/host/route.ts';
import { checkReceiver } from './check.ts';
import { deliveryRoutes } from './delivery-routes.ts';
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
  /** The settings in force. */
  readSettings: () => Promise<Pick<PlatformConfigSpec, 'notificationNetworks'>>;
  /** The public address of the management API. */
  baseUrl: string;
}

const tag = 'notifications';
const collection = '/projects/:project/notifications';
const path = `${collection}/:notification`;

type OnTarget = Pick<
  RouteRequest<{ project: string; notification: string }, unknown, unknown>,
  'params' | 'grant' | 'log' | 'session'
>;

/** `/projects/{p}/notifications`: outgoing signed webhooks of deployments that have ended. */
export function createNotificationRoutes(dependencies: NotificationDependencies): Route[] {
  const { pool, keyRing, readSettings, baseUrl } = dependencies;

  const find = async ({ params, grant }: Pick<OnTarget, 'params' | 'grant'>): Promise<Target> => {
    const found = await findTarget(pool, projectIdOf({ grant }), params.notification);
    return found ?? missing(params);
  };
  const receiver = async (url: string) => checkReceiver(url, (await readSettings()).notificationNetworks ?? []);
  // Of the address its origin only: its path may be a secret of the receiver's.
  const audit = (request: Pick<OnTarget, 'log' | 'session'>, action: string, { id, name, url }: Target) =>
    request.log.info(
      { action, actor: sessionOf(request).email, notification: { id, name, origin: new URL(url).origin } },
      'notification audit',
    );

  return [
    route({
      ...createNotificationSchema,
      method: 'POST',
      path: collection,
      access: { project: 'admin' },
      tag,
      summary: 'Adds an address that is told of deployments that have ended; shows the secret that signs, once.',
      async handle(request) {
        const { params, body } = request;
        const [id, secret] = [newId(), newWebhookSecret()];
        const target = await insertTarget(pool, {
          ...{ id, projectId: projectIdOf(request), project: params.project, name: body.name },
          url: await receiver(body.url),
          secret: seal(keyRing, notificationSecretContext(id), secret),
          events: unique(body.events ?? [...notificationEvents]),
          apps: body.apps ? unique(body.apps) : null,
          environments: body.environments ? unique(body.environments) : null,
        });
        audit(request, 'notification.create', target);
        return { status: 201, body: { ...targetToView(target), secret } };
      },
    }),
    route({
      ...listNotificationsSchema,
      method: 'GET',
      path: collection,
      access: { project: 'admin' },
      tag,
      summary: 'Lists the notifications of a project by name.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const found = await listTargets(pool, projectIdOf(request), { limit: limit + 1, after: cursor });
        return { status: 200, body: pageOfRows(found, limit, { cursorOf: ({ name }) => name, toItem: targetToView }) };
      },
    }),
    route({
      ...getNotificationSchema,
      method: 'GET',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Shows a notification, by name or id; never its secret.',
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
      summary: 'Changes a notification; what waits to be sent goes where it then leads.',
      async handle(request) {
        const { params, body } = request;
        if (Object.keys(body).length === 0) throw new Problem('invalid_request', 'Give what to change.');
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
        const after = (await updateTarget(pool, before, changes)) ?? missing(params);
        audit(request, 'notification.update', after);
        return { status: 200, body: targetToView(after) };
      },
    }),
    route({
      ...rotateNotificationSchema,
      method: 'POST',
      path: `${path}/rotate`,
      access: { project: 'admin' },
      tag,
      summary: 'Makes a new secret, shown once; every message from then on is signed with it, those that wait too.',
      async handle(request) {
        const { id } = await find(request);
        const secret = newWebhookSecret();
        const sealed = seal(keyRing, notificationSecretContext(id), secret);
        const target = (await updateSecret(pool, id, sealed)) ?? missing(request.params);
        audit(request, 'notification.rotate', target);
        return { status: 200, body: { ...targetToView(target), secret } };
      },
    }),
    route({
      ...deleteNotificationSchema,
      method: 'DELETE',
      path,
      access: { project: 'admin' },
      tag,
      summary: 'Deletes a notification and everything that waits to be sent to it.',
      async handle(request) {
        const target = await find(request);
        await deleteTarget(pool, target.id);
        audit(request, 'notification.delete', target);
        return { status: 204 };
      },
    }),
    ...deliveryRoutes({ pool, baseUrl, find }),
  ];
}

function missing({ project, notification }: { project: string; notification: string }): never {
  throw new Problem(
    'not_found',
    `The project "${project}" has no notification "${notification}"; list them with \`svc notification list\`.`,
  );
}

function unique(names: readonly string[]): string[] {
  return [...new Set(names)];
}
