import {
  notificationView,
  notificationWithSecret,
  type NotificationView,
} from '../../runtime/contracts/api/notifications.ts';
import { alertEvents } from '../../runtime/domain/notification.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, noPromptFlag, type projectFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { choices, requiredText, text } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { resolvePlatform } from '../scope.ts';
import { deliveryCommands } from './notification-deliveries.ts';

const collection = 'platform/notifications';
const words = ['firing', 'resolved'] as const;
const eventFlag = choices(words, 'send only when alerts are firing, or resolved (default both)');
const eventsOf = (chosen: readonly (typeof words)[number][]) =>
  chosen.length > 0 && { events: alertEvents.filter((event) => chosen.some((word) => event === `alert.${word}`)) };

const kind = defineKind<NotificationView & { secret?: string }>({
  name: 'platform notification',
  level: 'platform',
  collection,
  schema: notificationView,
  id: ({ name }) => name,
  examples: ['ops', 'pager'],
  columns: (_, { now }) => [
    { title: 'STATUS', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
    { title: 'EVENTS', value: ({ events }) => events.join(',') },
    { title: 'URL', value: ({ url }) => url },
    ageColumn(now),
  ],
  details: (view) => [
    ['Notification', view.name],
    ['URL', view.url],
    ['Events', view.events.join(', ')],
    ['Status', view.enabled ? 'enabled' : 'disabled'],
    ['Reason', view.disabledReason],
    ['Secret', view.secret],
  ],
  help: {
    list: 'List the notifications of the platform.',
    show: 'Show a notification of the platform.',
    delete: 'Delete notifications of the platform and their pending messages.',
  },
  immediate: true,
});

const create = command({
  name: 'create',
  args: ['notification'],
  description: 'Send a signed webhook when an alert fires or ends. Prints the secret once.',
  flags: { url: requiredText('<address>', 'target URL, https:// or http://'), event: eventFlag, ...apiFlags },
  data: kind.schema,
  examples: ['svc platform notification create ops --url https://hooks.example.com/svc'],
  async run({ context, args, flags }) {
    const scope = resolvePlatform(context, flags);
    const body = { name: args.notification, url: flags.url, ...eventsOf(flags.event) };
    const created = await scope.api.call('POST', scope.path(collection), notificationWithSecret, { body });
    kind.print(context, created, flags.output);
    context.say(
      'store the secret now, it is not shown again; it verifies webhook-signature (https://www.standardwebhooks.com)',
    );
  },
});

const update = command({
  name: 'update',
  args: ['notification'],
  description: 'Change a notification of the platform.',
  flags: { name: text('<name>', 'new name'), url: text('<address>', 'target URL'), event: eventFlag, ...apiFlags },
  data: kind.schema,
  examples: ['svc platform notification update ops --url https://hooks.example.com/new'],
  async run({ context, args, flags }) {
    const { name, url } = flags;
    const body = { ...(name !== undefined && { name }), ...(url !== undefined && { url }), ...eventsOf(flags.event) };
    if (Object.keys(body).length === 0)
      throw usageFailure('Nothing to change.', 'see svc platform notification update --help');
    kind.print(context, await kind.update(resolvePlatform(context, flags), args.notification, body), flags.output);
  },
});

const switched = (name: 'enable' | 'disable', enabled: boolean, description: string) =>
  command({
    name,
    args: ['notification'],
    description,
    flags: { ...noPromptFlag, ...apiFlags },
    examples: [`svc platform notification ${name} ops`],
    async run({ context, args, flags }) {
      const changed = await kind.update(resolvePlatform(context, flags), args.notification, { enabled });
      kind.print(context, changed, flags.output);
    },
  });

const rotate = command({
  name: 'rotate',
  args: ['notification'],
  description: 'Replace the secret. Rejected messages are retried with the new one.',
  flags: apiFlags,
  examples: ['svc platform notification rotate ops'],
  async run({ context, args, flags }) {
    const scope = resolvePlatform(context, flags);
    const path = scope.path(collection, args.notification, 'rotate');
    kind.print(context, await scope.api.call('POST', path, notificationWithSecret), flags.output);
  },
});

const messages = deliveryCommands({
  group: 'svc platform notification',
  collection,
  // The cast is safe: the project is not used.
  flags: apiFlags as unknown as typeof projectFlags,
  resolve: resolvePlatform,
});

export const platformNotificationCommands: Commands = {
  commands: [
    create,
    kind.list,
    kind.show,
    update,
    switched('enable', true, 'Enable a notification, from the next alert on.'),
    switched('disable', false, 'Disable a notification and discard its pending messages.'),
    rotate,
    messages.test,
    messages.deliveries,
    messages.redeliver,
    kind.delete,
  ],
};
