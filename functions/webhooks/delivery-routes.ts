import { z } from 'zod';
import type { DeliveryItem, DeliveryView } from '../../runtime/contracts/api/webhooks.ts';
import { newId, type Id } from '../../runtime/domain/ids.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { findApp, findLivingApp, type AppRequest } from '../../runtime/host/app-request.ts';
import { pageOfRows } from '../../runtime/host/page.ts';
import { route, sessionOf, type Route } from '../../runtime/host/route.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import {
  getDelivery,
  insertDelivery,
  listDeliveries,
  type Delivery,
  type FullDelivery,
} from '../../runtime/records/webhook-deliveries.ts';
import { findReceiver } from '../../runtime/records/webhooks.ts';
import { decide, type Decision } from './decide.ts';
import { checkEnabled } from './enabled.ts';
import type { Notice } from './notice.ts';
import { getDeliverySchema, listDeliveriesSchema, redeliverSchema, testWebhookSchema } from './schema.ts';
import { deliveryOf, settle, type SettleDependencies, targetOf, type Incoming } from './settle.ts';

export interface DeliveryDependencies extends SettleDependencies {
  kube: KubeClient;
}

const tag = 'webhooks';
const path = '/projects/:project/apps/:app/webhook';

function toItem(delivery: Delivery): DeliveryItem {
  const { id, sender, verdict, status, event, deliveryId, code, reason } = delivery;
  const { deploymentId, revision, redeliveryOf, actor } = delivery;
  return {
    id,
    receivedAt: delivery.receivedAt.toISOString(),
    sender,
    ...(event !== null && { event }),
    ...(deliveryId !== null && { deliveryId }),
    ...{ verdict, status },
    ...(code !== null && { code }),
    ...(reason !== null && { reason }),
    ...(deploymentId !== null && { deploymentId }),
    ...(revision !== null && { revision }),
    ...(redeliveryOf !== null && { redeliveryOf }),
    ...(actor !== null && { actor }),
  };
}

function toView(delivery: FullDelivery): DeliveryView {
  return { ...toItem(delivery), body: delivery.body, bodyBytes: delivery.bodyBytes };
}

/** The delivery log of an app's webhook, and what people do with it. */
export function createDeliveryRoutes({ kube, pool, accept }: DeliveryDependencies): Route[] {
  const find = async (workloadId: Id, id: string): Promise<FullDelivery> => {
    const found = z.uuid().safeParse(id).success ? await getDelivery(pool, workloadId, id) : undefined;
    if (found) return found;
    throw new Problem('not_found', 'The webhook has no delivery of this id; they are kept for 30 days.');
  };

  const enabled = async (
    request: AppRequest,
  ): Promise<{ at: Pick<Incoming, 'namespace' | 'app'>; receiver: Incoming['receiver'] }> => {
    const { environment, app } = await findLivingApp(kube, request);
    const at = { namespace: environment.namespace, app: app.metadata.name };
    const receiver = await findReceiver(pool, at.namespace, at.app);
    const own = receiver?.workloadId === workloadIdOf(app) ? receiver : undefined;
    checkEnabled(own?.webhook, at.app);
    return { at, receiver: { ...own, webhook: own.webhook } };
  };

  return [
    route({
      ...listDeliveriesSchema,
      method: 'GET',
      path: `${path}/deliveries`,
      access: { project: 'viewer' },
      tag,
      summary: 'Lists what the webhook was sent in the last 30 days and what became of it, the newest first.',
      async handle(request) {
        const { limit, cursor } = request.query;
        const { app } = await findApp(kube, request);
        const found = await listDeliveries(pool, workloadIdOf(app), { limit: limit + 1, before: cursor });
        return { status: 200, body: pageOfRows(found, limit, { cursorOf: ({ id }) => id, toItem }) };
      },
    }),
    route({
      ...getDeliverySchema,
      method: 'GET',
      path: `${path}/deliveries/:delivery`,
      access: { project: 'deployer' },
      tag,
      summary: 'Shows a delivery with its body, in which secrets are masked.',
      async handle(request) {
        const { app } = await findApp(kube, request);
        return { status: 200, body: toView(await find(workloadIdOf(app), request.params.delivery)) };
      },
    }),
    route({
      ...redeliverSchema,
      method: 'POST',
      path: `${path}/deliveries/:delivery/redeliver`,
      access: { project: 'deployer' },
      tag,
      summary: 'Does what a delivery asked for once more, as a new delivery, by the settings of now.',
      async handle(request) {
        const { at, receiver } = await enabled(request);
        const old = await find(receiver.workloadId, request.params.delivery);
        if (old.notice === null) {
          const why = old.sender === 'test' ? 'The delivery was a test' : 'The delivery could not be read';
          throw new Problem('conflict', `${why}, so there is nothing to repeat; send it anew.`);
        }
        const actor = sessionOf(request).email;
        const { sender, body, bodyBytes } = old;
        const incoming: Incoming = {
          ...{ ...at, receiver, sender, body, bodyBytes, actor },
          event: old.event ?? undefined,
          deliveryId: newId(),
          redeliveryOf: old.id,
        };
        // Stored by `settle`, in the form of its own time.
        const { delivery, verdict } = await settle({ pool, accept }, incoming, () => old.notice as Notice);
        request.log.info({ ...at, redeliveryOf: old.id, delivery, verdict, actor }, 'webhook redelivered');
        return { status: 200, body: toView(await find(receiver.workloadId, delivery)) };
      },
    }),
    route({
      ...testWebhookSchema,
      method: 'POST',
      path: `${path}/test`,
      access: { project: 'deployer' },
      tag,
      summary: 'Tells what the webhook would do, and deploys nothing; it stands in the delivery log as a test.',
      async handle(request) {
        const { at, receiver } = await enabled(request);
        const { image, commit, branch } = request.body;
        const body = JSON.stringify(request.body);
        const incoming: Incoming = {
          ...{ ...at, receiver, sender: 'test', actor: sessionOf(request).email },
          ...{ body, bodyBytes: Buffer.byteLength(body) },
        };
        const result = tryOut(() => decide(testNotice(image, commit, branch), targetOf(incoming)));
        const delivery = await insertDelivery(pool, { ...deliveryOf(incoming), ...result });
        return { status: 200, body: toView(await find(receiver.workloadId, delivery)) };
      },
    }),
  ];
}

/** With a branch it is a push, as a git host tells of it. */
function testNotice(image: string | undefined, commit: string | undefined, branch: string | undefined): Notice {
  if (image !== undefined) return { kind: 'deploy', image, commit };
  if (branch !== undefined) return { kind: 'push', refs: [{ branch, commit: commit ?? '0'.repeat(40) }] };
  if (commit !== undefined) return { kind: 'deploy', commit };
  return { kind: 'nothing', reason: 'A test: the webhook is enabled, and senders are heard.' };
}

/** What a decision would have led to, as the delivery log tells it. */
function tryOut(judge: () => Decision): {
  verdict: 'ignored' | 'refused';
  status: number;
  code?: string;
  reason: string;
} {
  try {
    const decision = judge();
    if (decision.verdict === 'ignore') return { verdict: 'ignored', status: 200, reason: decision.reason };
    if (decision.verdict === 'skip') {
      return { verdict: 'ignored', status: 200, reason: `A test: this would be skipped. ${decision.reason}` };
    }
    const what = decision.image ?? `the commit ${decision.commit}`;
    return { verdict: 'ignored', status: 202, reason: `A test: this would deploy ${what}.` };
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error;
    return { verdict: 'refused', status: error.status, code: error.code, reason: error.message };
  }
}
