import {
  notificationView,
  notificationWithSecret,
  type NotificationView,
} from '../../runtime/contracts/api/notifications.ts';
import { notificationEvents } from '../../runtime/domain/notification.ts';
import { command, type Commands } from '../command.ts';
import { noPromptFlag, projectFlags } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { requiredText, text, texts, toggle, withoutDefaults, type FlagValues } from '../flags.ts';
import { defineKind } from '../kind.ts';
import { ageColumn } from '../output.ts';
import { resolveProject } from '../scope.ts';
import { deliveryCommands } from './notification-deliveries.ts';

const shortEvent = (event: string) => event.replace('deployment.', '');

const notificationKind = defineKind<NotificationView & { secret?: string }>({
  name: 'notification',
  level: 'project',
  collection: 'notifications',
  schema: notificationView,
  id: ({ name }) => name,
  examples: ['ops', 'failures'],
  columns: (_, { now }) => [
    { title: 'STATUS', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
    { title: 'EVENTS', value: ({ events }) => events.map(shortEvent).join(',') },
    { title: 'APPS', value: ({ apps }) => apps?.join(',') ?? 'all' },
    { title: 'ENVIRONMENTS', value: ({ environments }) => environments?.join(',') ?? 'all' },
    { title: 'URL', value: ({ url }) => url },
    ageColumn(now),
  ],
  details: (view) => [
    ['Notification', view.name],
    ['URL', view.url],
    ['Events', view.events.map(shortEvent).join(', ')],
    ['Apps', view.apps?.join(', ') ?? 'all'],
    ['Environments', view.environments?.join(', ') ?? 'all'],
    ['Status', view.enabled ? 'enabled' : 'disabled'],
    ['Reason', view.disabledReason],
    ['Secret', view.secret],
  ],
  help: { delete: 'Delete notifications and their pending messages.' },
  immediate: true,
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
  data: notificationKind.schema,
  examples: [
    'svc notification create ops --url https://hooks.example.com/svc',
    'svc notification create failures --url https://hooks.example.com/svc --event failed --environment prod',
  ],
  async run({ context, args, flags }) {
    const scope = resolveProject(context, flags);
    const body = { name: args.notification, url: flags.url, ...filtersOf(flags) };
    const created = await scope.api.call('POST', scope.path('notifications'), notificationWithSecret, { body });
    notificationKind.print(context, created, flags.output);
    context.say(
      'store the secret now, it is not shown again; it verifies webhook-signature (https://www.standardwebhooks.com)',
    );
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
  data: notificationKind.schema,
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
    const scope = resolveProject(context, flags);
    notificationKind.print(context, await notificationKind.update(scope, args.notification, body), flags.output);
  },
});

const switched = (name: 'enable' | 'disable', enabled: boolean, description: string) =>
  command({
    name,
    args: ['notification'],
    description,
    flags: { ...noPromptFlag, ...projectFlags },
    examples: [`svc notification ${name} ops`],
    async run({ context, args, flags }) {
      const scope = resolveProject(context, flags);
      const changed = await notificationKind.update(scope, args.notification, { enabled });
      notificationKind.print(context, changed, flags.output);
    },
  });

const rotate = command({
  name: 'rotate',
  args: ['notification'],
  description: 'Replace the secret. Rejected messages are retried with the new one.',
  flags: projectFlags,
  examples: ['svc notification rotate ops'],
  async run({ context, args, flags }) {
    const scope = resolveProject(context, flags);
    const path = scope.path('notifications', args.notification, 'rotate');
    notificationKind.print(context, await scope.api.call('POST', path, notificationWithSecret), flags.output);
  },
});

const messages = deliveryCommands({
  group: 'svc notification',
  collection: 'notifications',
  flags: projectFlags,
  resolve: resolveProject,
});

export const notificationCommands: Commands = {
  commands: [
    create,
    notificationKind.list,
    notificationKind.show,
    update,
    switched('enable', true, 'Enable a notification, from the next deployment on.'),
    switched('disable', false, 'Disable a notification and discard its pending messages.'),
    rotate,
    messages.test,
    messages.deliveries,
    messages.redeliver,
    notificationKind.delete,
  ],
};
