import { page } from '../../runtime/contracts/api/common.ts';
import {
  deliveryItem,
  deliveryView,
  type DeliveryItem,
  type DeliveryView,
} from '../../runtime/contracts/api/webhooks.ts';
import { segment } from '../client.ts';
import { command } from '../command.ts';
import { scopeFlags } from '../common-flags.ts';
import { Failure } from '../failure.ts';
import { amount, imageReference, text } from '../flags.ts';
import { ago, fields, table, type Output } from '../output.ts';
import { resolveScope } from '../scope.ts';

function deliveryOutput(delivery: DeliveryView): Output {
  const { body, bodyBytes, ...rest } = delivery;
  const cut = bodyBytes > Buffer.byteLength(body) ? ` (of ${bodyBytes} bytes)` : '';
  return {
    data: delivery,
    table: fields([
      ['Delivery', rest.id],
      ['Received', rest.receivedAt],
      ['Sender', rest.sender],
      ['Event', rest.event],
      ['Delivery ID', rest.deliveryId],
      ['Verdict', `${rest.verdict} (${rest.status})`],
      ['Code', rest.code],
      ['Reason', rest.reason],
      ['Revision', rest.revision],
      ['Deployment', rest.deploymentId && `${rest.deploymentId} (${rest.deploymentStatus ?? 'unknown'})`],
      ['Redelivery of', rest.redeliveryOf],
      ['By', rest.actor],
      [`Body${cut}`, body],
    ]),
    names: [rest.id],
  };
}

function deliveriesOutput(items: readonly DeliveryItem[], now: Date): Output {
  return {
    data: items,
    table: table(items, [
      { title: 'ID', value: ({ id }) => id },
      { title: 'WHEN', value: ({ receivedAt }) => ago(receivedAt, now) },
      { title: 'SENDER', value: ({ sender }) => sender },
      { title: 'EVENT', value: ({ event }) => event },
      { title: 'VERDICT', value: ({ verdict }) => verdict },
      { title: 'REVISION', value: ({ revision }) => revision },
      { title: 'DEPLOYMENT', value: ({ deploymentStatus }) => deploymentStatus },
      { title: 'REASON', value: ({ reason }) => reason },
    ]),
    names: items.map(({ id }) => id),
  };
}

export const deliveriesCommand = command({
  name: 'deliveries',
  args: ['app', 'delivery?'],
  description: 'List webhook deliveries of the last 30 days, newest first, or show one.',
  flags: { limit: amount('<n>', 'maximum number of results (default 20)', { min: 1, max: 500 }), ...scopeFlags },
  data: deliveryView,
  watch: true,
  examples: ['svc app webhook deliveries api', 'svc app webhook deliveries api 019b2c3d-0000-7000-8000-000000000000'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, 'webhook/deliveries');
    if (args.delivery !== undefined) {
      const deliveryPath = `${path}/${segment(args.delivery)}`;
      const delivery = await scope.api.call('GET', deliveryPath, deliveryView, { query: scope.query });
      context.print(deliveryOutput(delivery), flags.output);
      return;
    }
    const query = { ...scope.query, limit: flags.limit ?? 20 };
    const { items } = await scope.api.call('GET', path, page(deliveryItem), { query });
    context.print(deliveriesOutput(items, context.clock.now()), flags.output);
  },
});

export const redeliverCommand = command({
  name: 'redeliver',
  args: ['app', 'delivery'],
  description: 'Process a delivery again, with the current settings.',
  flags: scopeFlags,
  examples: ['svc app webhook redeliver api 019b2c3d-0000-7000-8000-000000000000'],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const path = scope.path('apps', args.app, `webhook/deliveries/${segment(args.delivery)}/redeliver`);
    const delivery = await scope.api.call('POST', path, deliveryView, { query: scope.query });
    context.print(deliveryOutput(delivery), flags.output);
  },
});

export const testCommand = command({
  name: 'test',
  args: ['app'],
  description: 'Show what the webhook would do, without deploying (default: a ping).',
  flags: {
    image: imageReference('simulate a CI request with this image'),
    commit: text('<hash>', 'simulate a CI request with this commit'),
    branch: text('<branch>', 'simulate a push to this branch'),
    ...scopeFlags,
  },
  examples: [
    'svc app webhook test api',
    'svc app webhook test api --image registry.example.com/shop/api:1.4.2',
    'svc app webhook test api --branch main --commit 4f1c2aa',
  ],
  async run({ context, args, flags }) {
    const scope = resolveScope(context, flags);
    const { image, commit, branch } = flags;
    const body = {
      ...(image !== undefined && { image }),
      ...(commit !== undefined && { commit }),
      ...(branch !== undefined && { branch }),
    };
    const path = scope.path('apps', args.app, 'webhook/test');
    const delivery = await scope.api.call('POST', path, deliveryView, { query: scope.query, body });
    if (delivery.verdict === 'refused')
      throw new Failure(delivery.reason ?? 'The delivery was refused.', { code: delivery.code });
    context.print(deliveryOutput(delivery), flags.output);
  },
});
