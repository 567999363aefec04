import { alertEvents } from '../../runtime/domain/notification.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { choices, requiredText, text } from '../flags.ts';
import { resolvePlatform } from '../scope.ts';
import { deliveryCommands } from './notification-deliveries.ts';
import { createNotification, defineNotificationKind, rotateCommand, switchCommand } from './notification-kind.ts';

const words = ['firing', 'resolved'] as const;
const eventFlag = choices(words, 'send only when alerts are firing, or resolved (default both)');
const eventsOf = (chosen: readonly (typeof words)[number][]) =>
  chosen.length > 0 && { events: alertEvents.filter((event) => chosen.some((word) => event === `alert.${word}`)) };

const kind = defineNotificationKind({
  name: 'platform notification',
  level: 'platform',
  collection: 'platform/notifications',
  examples: ['ops', 'pager'],
  event: (event) => event,
  help: {
    list: 'List the notifications of the platform.',
    show: 'Show a notification of the platform.',
    delete: 'Delete notifications of the platform and their pending messages.',
  },
});

const create = command({
  name: 'create',
  args: ['notification'],
  description: 'Send a signed webhook when an alert fires or ends. Prints the secret once.',
  flags: { url: requiredText('<address>', 'target URL, https:// or http://'), event: eventFlag, ...apiFlags },
  data: kind.schema,
  examples: ['svc platform notification create ops --url https://hooks.example.com/svc'],
  async run({ context, args, flags }) {
    const body = { name: args.notification, url: flags.url, ...eventsOf(flags.event) };
    await createNotification(kind, { context, scope: resolvePlatform(context, flags), body }, flags.output);
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

const messages = deliveryCommands(kind);

export const platformNotificationCommands: Commands = {
  commands: [
    create,
    kind.list,
    kind.show,
    update,
    switchCommand(kind, 'enable', 'Enable a notification, from the next alert on.'),
    switchCommand(kind, 'disable', 'Disable a notification and discard its pending messages.'),
    rotateCommand(kind),
    messages.test,
    messages.deliveries,
    messages.redeliver,
    kind.delete,
  ],
};
