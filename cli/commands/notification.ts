import { notificationEvents } from '../../runtime/domain/notification.ts';
import { command, type Commands } from '../command.ts';
import { projectFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { requiredText, text, texts, toggle, withoutDefaults, type FlagValues } from '../flags.ts';
import { resolveProject } from '../scope.ts';
import { deliveryCommands } from './notification-deliveries.ts';
import { createNotification, defineNotificationKind, rotateCommand, switchCommand } from './notification-kind.ts';

const shortEvent = (event: string) => event.replace('deployment.', '');

const kind = defineNotificationKind({
  name: 'notification',
  level: 'project',
  collection: 'notifications',
  examples: ['ops', 'failures'],
  event: shortEvent,
  filters: [
    { name: 'Apps', value: ({ apps }) => apps },
    { name: 'Environments', value: ({ environments }) => environments },
  ],
  help: { delete: 'Delete notifications and their pending messages.' },
});

const filterFlags = {
  event: texts('<event>', `${notificationEvents.map(shortEvent).join(', ')} (default all)`),
  app: texts('<app>', 'only this app (default all)'),
  environment: texts('<environment>', 'only this environment (default all)'),
};

function filtersOf(flags: FlagValues<typeof filterFlags>): Record<string, readonly string[]> {
  const events = flags.event.map((typed) => {
    const event = notificationEvents.find((candidate) => candidate === typed || shortEvent(candidate) === typed);
    if (event !== undefined) return event;
    throw usageFailure(`--event must be one of ${notificationEvents.map(shortEvent).join(', ')}, not "${typed}".`);
  });
  return {
    ...(events.length > 0 && { events }),
    ...(flags.app.length > 0 && { apps: flags.app }),
    ...(flags.environment.length > 0 && { environments: flags.environment }),
  };
}

const create = command({
  name: 'create',
  args: ['notification'],
  description: 'Send a signed webhook when a deployment finishes. Prints the secret once.',
  flags: { url: requiredText('<address>', 'target URL, https:// or http://'), ...filterFlags, ...projectFlags },
  data: kind.schema,
  examples: [
    'svc notification create ops --url https://hooks.example.com/svc',
    'svc notification create failures --url https://hooks.example.com/svc --event failed --environment prod',
  ],
  async run({ context, args, flags }) {
    const body = { name: args.notification, url: flags.url, ...filtersOf(flags) };
    await createNotification(kind, { context, scope: resolveProject(context, flags), body }, flags.output);
  },
});

const update = command({
  name: 'update',
  args: ['notification'],
  description: 'Change a notification. A filter replaces its previous values.',
  flags: {
    name: text('<name>', 'new name'),
    url: text('<address>', 'target URL'),
    ...withoutDefaults(filterFlags),
    allEvents: toggle('send for all events'),
    allApps: toggle('send for all apps'),
    allEnvironments: toggle('send for all environments'),
    ...projectFlags,
  },
  data: kind.schema,
  examples: [
    'svc notification update ops --url https://hooks.example.com/new',
    'svc notification update ops --all-apps',
  ],
  async run({ context, args, flags }) {
    const { name, url } = flags;
    const body = {
      ...(name !== undefined && { name }),
      ...(url !== undefined && { url }),
      ...filtersOf(flags),
      ...(flags.allEvents && { events: notificationEvents }),
      ...(flags.allApps && { apps: null }),
      ...(flags.allEnvironments && { environments: null }),
    };
    if (Object.keys(body).length === 0) throw usageFailure('Nothing to change.', 'see svc notification update --help');
    kind.print(context, await kind.update(resolveProject(context, flags), args.notification, body), flags.output);
  },
});

const messages = deliveryCommands(kind);

export const notificationCommands: Commands = {
  commands: [
    create,
    kind.list,
    kind.show,
    update,
    switchCommand(kind, 'enable', 'Enable a notification, from the next deployment on.'),
    switchCommand(kind, 'disable', 'Disable a notification and discard its pending messages.'),
    rotateCommand(kind),
    messages.test,
    messages.deliveries,
    messages.redeliver,
    kind.delete,
  ],
};
