import { page } from '../../runtime/contracts/api/common.ts';
import {
  deliveryAccepted,
  deliveryDetail,
  deliveryView,
  type DeliveryView,
} from '../../runtime/contracts/api/notifications.ts';
import { command } from '../command.ts';
import { apiFlags, scopeFlags } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount } from '../flags.ts';
import { ago, fields, span, table, type Shown } from '../output.ts';
import { placeOf, type Place } from '../place.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';

const projectFlags = { project: scopeFlags.project, ...apiFlags };

const about = ({ app, revision, environment }: DeliveryView) =>
  app === undefined ? undefined : `${app} ${revision ?? ''} (${environment})`;

/** What the last attempt brought, in few words. */
function answer({ lastAttempt: last }: DeliveryView): string | undefined {
  return last && (last.error ?? String(last.status));
}

function shownDelivery(delivery: DeliveryView): Shown {
  return {
    data: delivery,
    table: fields([
      ['Delivery', delivery.id],
      ['Type', delivery.type],
      ['Deployment', about(delivery)],
      ['Status', delivery.status],
      ['Attempts', delivery.attempts],
      ['Answer', answer(delivery)],
      ['Next try', delivery.nextAttemptAt],
    ]),
    names: [delivery.id],
  };
}

/** Waits until a message was tried. @throws Failure with what came back unless it was delivered */
async function untilTried(
  context: Context,
  flags: WaitFlags,
  place: Place,
  { notification, id }: { notification: string; id: string },
  before: number,
): Promise<DeliveryView> {
  const path = place.path('notifications', notification, `deliveries/${id}`);
  const tried = await waitFor(
    context,
    flags,
    async () => {
      const found = await place.api.call('GET', path, deliveryDetail);
      return found.attempts > before ? { done: found } : { progress: `sending to ${notification}` };
    },
    `it goes on: svc notification deliveries ${notification} --project ${place.project}`,
  );
  if (tried.status === 'delivered') return tried;
  throw new Failure(`The message was not delivered: ${answer(tried) ?? 'see its attempts'}`, {
    code: 'not_delivered',
    hint: tried.nextAttemptAt === undefined ? undefined : `it is tried again ${inWords(tried.nextAttemptAt, context)}`,
  });
}

function inWords(time: string, { clock }: Context): string {
  return `in ${span(Math.max(1, Math.round((Date.parse(time) - clock.now().getTime()) / 1000)))}`;
}

export const testCommand = command({
  name: 'test',
  args: ['notification'],
  description: 'Send a message of the type notification.test, and tell what came back.',
  flags: { ...waitFlags, ...projectFlags },
  examples: ['svc notification test ops'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const { notification } = args;
    const path = place.path('notifications', notification, 'test');
    const accepted = await place.api.call('POST', path, deliveryAccepted);
    if (flags.wait) {
      const tried = await untilTried(context, flags, place, { notification, id: accepted.id }, 0);
      context.print(shownDelivery(tried), flags.output);
    } else context.print({ data: accepted, table: `${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
  },
});

export const redeliverCommand = command({
  name: 'redeliver',
  args: ['notification', 'delivery'],
  description: 'Send a message again, under the same webhook-id, and tell what came back.',
  flags: { ...waitFlags, ...projectFlags },
  examples: ['svc notification redeliver ops 019a0000-0000-7000-8000-000000000001'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const { notification, delivery: id } = args;
    const one = place.path('notifications', notification, `deliveries/${encodeURIComponent(id)}`);
    const { attempts } = await place.api.call('GET', one, deliveryDetail);
    const accepted = await place.api.call('POST', `${one}/redeliver`, deliveryAccepted);
    if (flags.wait) {
      const tried = await untilTried(context, flags, place, { notification, id: accepted.id }, attempts);
      context.print(shownDelivery(tried), flags.output);
    } else context.print({ data: accepted, table: `${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
  },
});

export const deliveriesCommand = command({
  name: 'deliveries',
  args: ['notification', 'delivery?'],
  description:
    'List what was sent in the last 30 days and what waits to be, newest first, or show one with its attempts.',
  flags: { limit: amount('<n>', 'at most so many (default 20)', { min: 1, max: 500 }), ...projectFlags },
  examples: ['svc notification deliveries ops', 'svc notification deliveries ops --limit 100 -o json'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const now = context.clock.now();
    if (args.delivery !== undefined) {
      const path = place.path('notifications', args.notification, `deliveries/${encodeURIComponent(args.delivery)}`);
      const found = await place.api.call('GET', path, deliveryDetail);
      const attempts = table(found.history, [
        { title: 'WHEN', value: ({ at }) => ago(at, now) },
        { title: 'TOOK', value: ({ durationMs }) => `${durationMs} ms` },
        { title: 'ANSWER', value: ({ status }) => status },
        { title: 'ERROR', value: ({ error }) => error },
      ]);
      context.print({ ...shownDelivery(found), table: `${shownDelivery(found).table}\n\n${attempts}` }, flags.output);
      return;
    }
    const path = place.path('notifications', args.notification, 'deliveries');
    const query = { limit: flags.limit ?? 20 };
    const { items } = await place.api.call('GET', path, page(deliveryView), { query });
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'DELIVERY', value: ({ id }) => id },
          { title: 'TYPE', value: ({ type }) => type },
          { title: 'DEPLOYMENT', value: about },
          { title: 'STATUS', value: ({ status }) => status },
          { title: 'ATTEMPTS', value: ({ attempts }) => attempts },
          { title: 'ANSWER', value: answer },
          { title: 'NEXT TRY', value: ({ nextAttemptAt: next }) => next && inWords(next, context) },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ id }) => id),
      },
      flags.output,
    );
  },
});
