import { page } from '../../runtime/contracts/api/common.ts';
import {
  deliveryAccepted,
  deliveryDetail,
  deliveryView,
  type DeliveryView,
} from '../../runtime/contracts/api/notifications.ts';
import { segment } from '../client.ts';
import { command, type Command } from '../command.ts';
import type { Context } from '../context.ts';
import { Failure } from '../failure.ts';
import { amount } from '../flags.ts';
import { ago, fields, span, table, type Output } from '../output.ts';
import type { Scope } from '../scope.ts';
import { waitFlags, waitFor, type WaitFlags } from '../wait.ts';
import type { NotificationKind } from './notification-kind.ts';

const about = ({ app, revision, environment }: DeliveryView) =>
  app === undefined ? undefined : `${app} ${revision ?? ''} (${environment})`;

/** The HTTP status or the error of the last attempt. */
function responseText({ lastAttempt: last }: DeliveryView): string | undefined {
  return last && (last.error ?? String(last.status));
}

function deliveryOutput(delivery: DeliveryView): Output {
  return {
    data: delivery,
    table: fields([
      ['Delivery', delivery.id],
      ['Type', delivery.type],
      ['Deployment', about(delivery)],
      ['Status', delivery.status],
      ['Attempts', delivery.attempts],
      ['Answer', responseText(delivery)],
      ['Next try', delivery.nextAttemptAt],
    ]),
    names: [delivery.id],
  };
}

/** Waits for the next attempt of a message. @throws Failure `not_delivered` with the response */
async function waitForAttempt(
  context: Context,
  flags: WaitFlags,
  { scope, kind }: { scope: Scope; kind: NotificationKind },
  { notification, id }: { notification: string; id: string },
  previousAttempts: number,
): Promise<DeliveryView> {
  const path = kind.path(scope, notification, `deliveries/${segment(id)}`);
  const attempted = await waitFor(
    context,
    flags,
    async () => {
      const delivery = await scope.api.call('GET', path, deliveryDetail);
      return delivery.attempts > previousAttempts ? { done: delivery } : { progress: `sending to ${notification}` };
    },
    `svc ${kind.name} deliveries ${notification} ${scope.flags}`.trimEnd(),
  );
  if (attempted.status === 'delivered') return attempted;
  throw new Failure(`The message was not delivered: ${responseText(attempted) ?? 'see its attempts'}`, {
    code: 'not_delivered',
    hint:
      attempted.nextAttemptAt === undefined
        ? undefined
        : `it is retried ${timeUntil(attempted.nextAttemptAt, context)}`,
  });
}

function timeUntil(time: string, { clock }: Context): string {
  return `in ${span(Math.max(1, Math.round((Date.parse(time) - clock.now().getTime()) / 1000)))}`;
}

function testCommand(kind: NotificationKind): Command {
  return command({
    name: 'test',
    args: ['notification'],
    description: 'Send a test message and show the response.',
    flags: { ...waitFlags, ...kind.flags },
    examples: [`svc ${kind.name} test ops`],
    async run({ context, args, flags }) {
      const scope = kind.resolve(context, flags);
      const { notification } = args;
      const path = kind.path(scope, notification, 'test');
      const accepted = await scope.api.call('POST', path, deliveryAccepted);
      if (flags.wait) {
        const delivery = await waitForAttempt(context, flags, { scope, kind }, { notification, id: accepted.id }, 0);
        context.print(deliveryOutput(delivery), flags.output);
      } else context.print({ data: accepted, table: `${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
    },
  });
}

function redeliverCommand(kind: NotificationKind): Command {
  return command({
    name: 'redeliver',
    args: ['notification', 'delivery'],
    description: 'Send a message again and show the response.',
    flags: { ...waitFlags, ...kind.flags },
    examples: [`svc ${kind.name} redeliver ops 019a0000-0000-7000-8000-000000000001`],
    async run({ context, args, flags }) {
      const scope = kind.resolve(context, flags);
      const { notification, delivery: id } = args;
      const path = kind.path(scope, notification, `deliveries/${segment(id)}`);
      const { attempts } = await scope.api.call('GET', path, deliveryDetail);
      const accepted = await scope.api.call('POST', `${path}/redeliver`, deliveryAccepted);
      if (flags.wait) {
        const delivery = await waitForAttempt(
          context,
          flags,
          { scope, kind },
          { notification, id: accepted.id },
          attempts,
        );
        context.print(deliveryOutput(delivery), flags.output);
      } else context.print({ data: accepted, table: `${accepted.id} is accepted`, names: [accepted.id] }, flags.output);
    },
  });
}

function deliveriesCommand(kind: NotificationKind): Command {
  return command({
    name: 'deliveries',
    args: ['notification', 'delivery?'],
    description: 'List messages of the last 30 days, newest first, or show one.',
    flags: { limit: amount('<n>', 'maximum number of results (default 20)', { min: 1, max: 500 }), ...kind.flags },
    data: deliveryView,
    watch: true,
    examples: [`svc ${kind.name} deliveries ops`, `svc ${kind.name} deliveries ops --limit 100 -o json`],
    async run({ context, args, flags }) {
      const scope = kind.resolve(context, flags);
      const now = context.clock.now();
      if (args.delivery !== undefined) {
        const path = kind.path(scope, args.notification, `deliveries/${segment(args.delivery)}`);
        const delivery = await scope.api.call('GET', path, deliveryDetail);
        const attempts = table(delivery.history, [
          { title: 'WHEN', value: ({ at }) => ago(at, now) },
          { title: 'TOOK', value: ({ durationMs }) => `${durationMs} ms` },
          { title: 'ANSWER', value: ({ status }) => status },
          { title: 'ERROR', value: ({ error }) => error },
        ]);
        context.print(
          { ...deliveryOutput(delivery), table: `${deliveryOutput(delivery).table}\n\n${attempts}` },
          flags.output,
        );
        return;
      }
      const path = kind.path(scope, args.notification, 'deliveries');
      const query = { limit: flags.limit ?? 20 };
      const { items } = await scope.api.call('GET', path, page(deliveryView), { query });
      context.print(
        {
          data: items,
          table: table(items, [
            { title: 'DELIVERY', value: ({ id }) => id },
            { title: 'TYPE', value: ({ type }) => type },
            { title: 'DEPLOYMENT', value: about },
            { title: 'STATUS', value: ({ status }) => status },
            { title: 'ATTEMPTS', value: ({ attempts }) => attempts },
            { title: 'ANSWER', value: responseText },
            { title: 'NEXT TRY', value: ({ nextAttemptAt: next }) => next && timeUntil(next, context) },
            { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
          ]),
          names: items.map(({ id }) => id),
        },
        flags.output,
      );
    },
  });
}

/** The commands about the messages of a notification. */
export function deliveryCommands(kind: NotificationKind): { test: Command; redeliver: Command; deliveries: Command } {
  return { test: testCommand(kind), redeliver: redeliverCommand(kind), deliveries: deliveriesCommand(kind) };
}
