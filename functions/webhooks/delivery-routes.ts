import type { Pool } from 'pg';
import { z } from 'zod';
import { environmentQuery, idPageQuery, page } from '../../runtime/contracts/api/common.ts';
import {
  deliveryItem,
  deliveryView,
  webhookTest,
  type DeliveryItem,
  type DeliveryView,
} from '../../runtime/contracts/api/webhooks.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import type { ObjectRequest, ObjectRoutes } from '../../runtime/api/object-routes.ts';
import { pageOfRows } from '../../runtime/http/page.ts';
import type { Route } from '../../runtime/http/route.ts';
import {
  getDelivery,
  listDeliveries,
  type Delivery,
  type FullDelivery,
} from '../../runtime/records/webhook-deliveries.ts';
import { findReceiver } from '../../runtime/records/webhooks.ts';
import { workloadIdOf } from '../../runtime/workloads/objects.ts';
import { checkEnabled } from './enabled.ts';
import type { WebhookEvent } from './event.ts';
import type { IncomingDelivery, HandleDelivery } from './delivery-handler.ts';

/** The delivery log of an app's webhook, redelivery and tests. */
export function createDeliveryRoutes(
  apps: ObjectRoutes<App>,
  { pool, handleDelivery }: { pool: Pool; handleDelivery: HandleDelivery },
): Route[] {
  const tag = 'webhooks';
  const findDelivery = async (workloadId: Id, id: string): Promise<FullDelivery> => {
    const delivery = z.uuid().safeParse(id).success ? await getDelivery(pool, workloadId, id) : undefined;
    if (delivery) return delivery;
    throw new Problem('not_found', 'The webhook has no delivery with this id. Deliveries are kept for 30 days.');
  };
  /** @throws Problem `conflict` unless the app's webhook is enabled */
  const enabledReceiver = async ({
    environment,
    findLiving,
  }: Pick<ObjectRequest<App>, 'environment' | 'findLiving'>): Promise<IncomingDelivery['receiver']> => {
    const app = await findLiving();
    const { name } = app.metadata;
    const row = await findReceiver(pool, environment.namespace, name);
    const receiver = row?.workloadId === workloadIdOf(app) ? row : undefined;
    checkEnabled(receiver?.webhook, name);
    return { ...receiver, webhook: receiver.webhook };
  };

  return [
    apps.route({
      method: 'GET',
      path: '/webhook/deliveries',
      access: { project: 'viewer', scope: 'read' },
      tag,
      summary: 'Lists the webhook’s deliveries of the last 30 days and their outcomes, newest first.',
      query: environmentQuery.extend(idPageQuery.shape),
      replies: { 200: page(deliveryItem) },
      async handle({ query: { limit, cursor }, find }) {
        const rows = await listDeliveries(pool, workloadIdOf(await find()), { limit: limit + 1, before: cursor });
        return { status: 200, body: pageOfRows(rows, limit, { cursorOf: ({ id }) => id, toItem: deliveryToItem }) };
      },
    }),
    apps.route({
      method: 'GET',
      path: '/webhook/deliveries/:delivery',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Shows a delivery and its body, with secrets masked.',
      replies: { 200: deliveryView },
      async handle({ params, find }) {
        return { status: 200, body: deliveryToView(await findDelivery(workloadIdOf(await find()), params.delivery)) };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/webhook/deliveries/:delivery/redeliver',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Repeats a delivery as a new one, with the current settings.',
      audit: 'webhook.redeliver',
      replies: { 200: deliveryView },
      async handle(request) {
        const { params, name, environment, actor } = request;
        const receiver = await enabledReceiver(request);
        const previous = await findDelivery(receiver.workloadId, params.delivery);
        if (previous.webhookEvent === null) {
          const reason = previous.sender === 'test' ? 'The delivery was a test' : 'The delivery could not be parsed';
          throw new Problem('conflict', `${reason}, so it cannot be repeated. Send it again.`);
        }
        const { sender, event, body, bodyBytes } = previous;
        const incoming: IncomingDelivery = {
          app: name,
          namespace: environment.namespace,
          receiver,
          sender,
          body,
          bodyBytes,
          actor,
          event: event ?? undefined,
          deliveryId: newId(),
          redeliveryOf: previous.id,
        };
        const { delivery, verdict } = await handleDelivery(incoming, () => previous.webhookEvent as WebhookEvent);
        const view = deliveryToView(await findDelivery(receiver.workloadId, delivery));
        return { status: 200, body: view, audit: { redelivery: delivery, verdict } };
      },
    }),
    apps.route({
      method: 'POST',
      path: '/webhook/test',
      access: { project: 'deployer', scope: 'write' },
      tag,
      summary: 'Shows what the webhook would do, without deploying. The delivery log lists it as a test.',
      audit: 'webhook.test',
      body: webhookTest,
      replies: { 200: deliveryView },
      async handle(request) {
        const { name, environment, actor } = request;
        const { namespace } = environment;
        const receiver = await enabledReceiver(request);
        const body = JSON.stringify(request.body);
        const bodyBytes = Buffer.byteLength(body);
        const incoming = { app: name, namespace, receiver, sender: 'test', actor, body, bodyBytes, dryRun: true };
        const { delivery } = await handleDelivery(incoming, () => testEvent(request.body));
        return { status: 200, body: deliveryToView(await findDelivery(receiver.workloadId, delivery)) };
      },
    }),
  ];
}

/** The event of a test; with a branch, it is the push of a git host. */
function testEvent({ image, commit, branch }: z.output<typeof webhookTest>): WebhookEvent {
  if (image !== undefined) return { kind: 'deploy', image, commit };
  if (branch !== undefined) return { kind: 'push', refs: [{ branch, commit: commit ?? '0'.repeat(40) }] };
  if (commit !== undefined) return { kind: 'deploy', commit };
  return { kind: 'nothing', reason: 'Test: the webhook is enabled and accepts requests.' };
}

function deliveryToItem(delivery: Delivery): DeliveryItem {
  const { id, sender, verdict, status, event, deliveryId, code, reason } = delivery;
  const { deploymentId, revision, deploymentStatus, redeliveryOf, actor } = delivery;
  return {
    id,
    receivedAt: delivery.receivedAt.toISOString(),
    sender,
    ...(event !== null && { event }),
    ...(deliveryId !== null && { deliveryId }),
    verdict,
    status,
    ...(code !== null && { code }),
    ...(reason !== null && { reason }),
    ...(deploymentId !== null && { deploymentId }),
    ...(revision !== null && { revision }),
    ...(deploymentStatus !== null && { deploymentStatus }),
    ...(redeliveryOf !== null && { redeliveryOf }),
    ...(actor !== null && { actor }),
  };
}

function deliveryToView(delivery: FullDelivery): DeliveryView {
  return { ...deliveryToItem(delivery), body: delivery.body, bodyBytes: delivery.bodyBytes };
}
