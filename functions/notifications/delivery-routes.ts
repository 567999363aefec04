import type { Pool } from 'pg';
import { z } from 'zod';
import type { Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import { route, type Route, type RouteReply, type RouteRequest } from '../../runtime/http/route.ts';
import { findDelivery, insertTest, listAttempts, listDeliveries, redeliver, type DeliveryRow } from './deliveries.ts';
import { getDeliverySchema, listDeliveriesSchema, redeliverSchema, testNotificationSchema } from './schema.ts';
import type { Target } from './store.ts';
import { attemptToView, deliveryToView } from './view.ts';

interface DeliveryRouteDependencies {
  pool: Pool;
  /** The public address of the management API. */
  baseUrl: string;
  /** The target of a request. @throws Problem `not_found` */
  find: (
    request: Pick<RouteRequest<{ project: string; notification: string }, unknown, unknown>, 'params' | 'grant'>,
  ) => Promise<Target>;
}

const tag = 'notifications';
const path = '/projects/:project/notifications/:notification';

/** The deliveries of a notification target, tests and redelivery. */
export function deliveryRoutes({ pool, baseUrl, find }: DeliveryRouteDependencies): Route[] {
  const accepted = (project: string, target: Target, id: Id): RouteReply => {
    const owner = project === '' ? 'platform' : `projects/${project}`;
    const statusUrl = `${baseUrl}/api/v1/${owner}/notifications/${target.id}/deliveries/${id}`;
    return {
      status: 202,
      headers: { Location: statusUrl },
      body: { id, status: 'pending', statusUrl },
      audit: { delivery: id },
    };
  };
  const findOne = async (target: Target, id: string): Promise<DeliveryRow> => {
    const delivery = z.uuid().safeParse(id).success ? await findDelivery(pool, target.id, id) : undefined;
    if (delivery) return delivery;
    throw new Problem(
      'not_found',
      `The notification "${target.name}" has no delivery with this id. Deliveries are kept for 30 days.`,
    );
  };

  return [
    route({
      ...testNotificationSchema,
      method: 'POST',
      path: `${path}/test`,
      access: { project: 'admin' },
      tag,
      summary: 'Sends a test message (type `notification.test`).',
      audit: 'notification.test',
      async handle(request) {
        const target = await find(request);
        if (!target.enabled) throw disabled(target, request.params.project);
        const id = await insertTest(pool, target.id);
        return accepted(request.params.project, target, id);
      },
    }),
    route({
      ...listDeliveriesSchema,
      method: 'GET',
      path: `${path}/deliveries`,
      access: { project: 'admin' },
      tag,
      summary: 'Lists a notification target’s deliveries of the last 30 days, newest first.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const target = await find(request);
        const rows = await listDeliveries(pool, target.id, { limit: limit + 1, before: cursor });
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem: deliveryToView }) };
      },
    }),
    route({
      ...getDeliverySchema,
      method: 'GET',
      path: `${path}/deliveries/:delivery`,
      access: { project: 'admin' },
      tag,
      summary: 'Shows a delivery with all its attempts.',
      async handle(request) {
        const delivery = await findOne(await find(request), request.params.delivery);
        const history = (await listAttempts(pool, delivery.id)).map(attemptToView);
        return { status: 200, body: { ...deliveryToView(delivery), history } };
      },
    }),
    route({
      ...redeliverSchema,
      method: 'POST',
      path: `${path}/deliveries/:delivery/redeliver`,
      access: { project: 'admin' },
      tag,
      summary: 'Sends a delivery again, with the same `webhook-id`.',
      audit: 'notification.redeliver',
      async handle(request) {
        const { params } = request;
        const target = await find(request);
        const { id } = await findOne(target, params.delivery);
        if (!target.enabled) throw disabled(target, request.params.project);
        await redeliver(pool, id);
        return accepted(params.project, target, id);
      },
    }),
  ];
}

function disabled({ name }: Target, project: string): Problem {
  const group = project === '' ? 'svc platform notification' : 'svc notification';
  return new Problem('conflict', `The notification "${name}" is disabled. Enable it: ${group} enable ${name}`);
}
