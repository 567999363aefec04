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
import { amount, text } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';

function shownDelivery(delivery: DeliveryView): Shown {
  const { body, bodyBytes, ...rest } = delivery;
  const cut = bodyBytes > Buffer.byteLength(body) ? ` (of ${bodyBytes} bytes)` : '';
  return {
    data: delivery,
    table: fields([
      ['Delivery', rest.id],
      ['Received', rest.receivedAt],
      ['Sender', rest.sender],
      ['Event', rest.event],
      ['Its name', rest.deliveryId],
      ['Verdict', `${rest.verdict} (${rest.status})`],
      ['Code', rest.code],
      ['Reason', rest.reason],
      ['Revision', rest.revision],
      ['Deployment', rest.deploymentId],
      ['Repeats', rest.redeliveryOf],
      ['By', rest.actor],
      [`Body${cut}`, body],
    ]),
    names: [rest.id],
  };
}

function shownDeliveries(items: readonly DeliveryItem[], now: Date): Shown {
  return {
    data: items,
    table: table(items, [
      { title: 'ID', value: ({ id }) => id },
      { title: 'WHEN', value: ({ receivedAt }) => ago(receivedAt, now) },
      { title: 'SENDER', value: ({ sender }) => sender },
      { title: 'EVENT', value: ({ event }) => event },
      { title: 'VERDICT', value: ({ verdict }) => verdict },
      { title: 'REVISION', value: ({ revision }) => revision },
      { title: 'REASON', value: ({ reason }) => reason },
    ]),
    names: items.map(({ id }) => id),
  };
}

export const deliveriesCommand = command({
  name: 'deliveries',
  args: ['app', 'delivery?'],
  description: 'List what the webhook was sent in the last 30 days, newest first; with an id, show one with its body.',
  flags: { limit: amount('<n>', 'at most so many (default 20)', { min: 1, max: 500 }), ...scopeFlags },
  examples: ['svc app webhook deliveries api', 'svc app webhook deliveries api 019b2c3d-0000-7000-8000-000000000000'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, 'webhook/deliveries');
    if (args.delivery !== undefined) {
      const one = `${path}/${segment(args.delivery)}`;
      const delivery = await place.api.call('GET', one, deliveryView, { query: place.query });
      context.print(shownDelivery(delivery), flags.output);
      return;
    }
    const query = { ...place.query, limit: flags.limit ?? 20 };
    const { items } = await place.api.call('GET', path, page(deliveryItem), { query });
    context.print(shownDeliveries(items, context.clock.now()), flags.output);
  },
});

export const redeliverCommand = command({
  name: 'redeliver',
  args: ['app', 'delivery'],
  description: 'Do what a delivery asked for once more, as a new delivery and by the settings of now.',
  flags: scopeFlags,
  examples: ['svc app webhook redeliver api 019b2c3d-0000-7000-8000-000000000000'],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const path = place.path('apps', args.app, `webhook/deliveries/${segment(args.delivery)}/redeliver`);
    const delivery = await place.api.call('POST', path, deliveryView, { query: place.query });
    context.print(shownDelivery(delivery), flags.output);
  },
});

export const testCommand = command({
  name: 'test',
  args: ['app'],
  description: 'Tell what the webhook would do; nothing is deployed. Without flags it is a ping.',
  flags: {
    image: text('<image>', 'as if a CI system sent this image'),
    commit: text('<hash>', 'as if a CI system sent this commit'),
    branch: text('<branch>', 'as if somebody pushed to this branch'),
    ...scopeFlags,
  },
  examples: [
    'svc app webhook test api',
    'svc app webhook test api --image registry.example.com/shop/api:1.4.2',
    'svc app webhook test api --branch main --commit 4f1c2aa',
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, flags);
    const { image, commit, branch } = flags;
    const body = {
      ...(image !== undefined && { image }),
      ...(commit !== undefined && { commit }),
      ...(branch !== undefined && { branch }),
    };
    const path = place.path('apps', args.app, 'webhook/test');
    const delivery = await place.api.call('POST', path, deliveryView, { query: place.query, body });
    if (delivery.verdict === 'refused') throw new Failure(delivery.reason ?? 'Refused.', { code: delivery.code });
    context.print(shownDelivery(delivery), flags.output);
  },
});
