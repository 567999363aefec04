import {
  notificationView,
  notificationWithSecret,
  type NotificationView,
} from '../../runtime/contracts/api/notifications.ts';
import { notificationEvents } from '../../runtime/domain/notification.ts';
import { command, type Commands } from '../command.ts';
import { apiFlags, scopeFlags, unaskedFlag, yesFlag } from '../common-flags.ts';
import { usageFailure } from '../failure.ts';
import { requiredText, text, texts, toggle, type FlagValues } from '../flags.ts';
import { ago, fields, table, type Shown } from '../output.ts';
import { placeOf } from '../place.ts';
import { confirm } from '../prompt.ts';
import { deliveriesCommand, redeliverCommand, testCommand } from './notification-deliveries.ts';

/** Notifications are the project's: the environment is a filter of theirs. */
const projectFlags = { project: scopeFlags.project, ...apiFlags };

function shown(notification: NotificationView & { secret?: string }): Shown {
  const { apps, environments, enabled, disabledReason } = notification;
  return {
    data: notification,
    table: fields([
      ['Notification', notification.name],
      ['URL', notification.url],
      ['Events', notification.events.map(shortEvent).join(', ')],
      ['Apps', apps?.join(', ') ?? 'all'],
      ['Environments', environments?.join(', ') ?? 'all'],
      ['Status', enabled ? 'enabled' : 'disabled'],
      ['Reason', disabledReason],
      ['Secret', notification.secret],
    ]),
    names: [notification.name],
  };
}

const shortEvent = (event: string) => event.replace('deployment.', '');

const filterFlags = {
  event: texts('<event>', `${notificationEvents.map(shortEvent).join(', ')}; default all`),
  app: texts('<app>', 'only of this app; default all'),
  environment: texts('<environment>', 'only in this environment; default all'),
};

function filtersOf(flags: FlagValues<typeof filterFlags>): Record<string, readonly string[]> {
  const events = flags.event.map((typed) => {
    const event = notificationEvents.find((known) => known === typed || shortEvent(known) === typed);
    if (event !== undefined) return event;
    throw usageFailure(`--event takes one of ${notificationEvents.map(shortEvent).join(', ')}; not "${typed}".`);
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
  description: 'Tell an address of deployments that have ended, by signed webhooks; prints the secret, once.',
  flags: { url: requiredText('<address>', 'where to send to, https:// or http://'), ...filterFlags, ...projectFlags },
  examples: [
    'svc notification create ops --url https://hooks.example.com/svc',
    'svc notification create failures --url https://hooks.example.com/svc --event failed --environment prod',
  ],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const body = { name: args.notification, url: flags.url, ...filtersOf(flags) };
    const created = await place.api.call('POST', place.path('notifications'), notificationWithSecret, { body });
    context.print(shown(created), flags.output);
    context.say('the secret is not shown again; it checks webhook-signature (https://www.standardwebhooks.com)');
  },
});

const list = command({
  name: 'list',
  description: 'List the notifications of a project.',
  flags: projectFlags,
  examples: ['svc notification list', 'svc notification list -o json'],
  async run({ context, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const items = await place.api.list(place.path('notifications'), notificationView);
    const now = context.clock.now();
    context.print(
      {
        data: items,
        table: table(items, [
          { title: 'NOTIFICATION', value: ({ name }) => name },
          { title: 'STATUS', value: ({ enabled }) => (enabled ? 'enabled' : 'disabled') },
          { title: 'EVENTS', value: ({ events }) => events.map(shortEvent).join(',') },
          { title: 'APPS', value: ({ apps }) => apps?.join(',') ?? 'all' },
          { title: 'ENVIRONMENTS', value: ({ environments }) => environments?.join(',') ?? 'all' },
          { title: 'URL', value: ({ url }) => url },
          { title: 'CREATED', value: ({ createdAt }) => ago(createdAt, now) },
        ]),
        names: items.map(({ name }) => name),
      },
      flags.output,
    );
  },
});

const show = command({
  name: 'show',
  args: ['notification'],
  description: 'Show a notification.',
  flags: projectFlags,
  examples: ['svc notification show ops'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    context.print(
      shown(await place.api.call('GET', place.path('notifications', args.notification), notificationView)),
      flags.output,
    );
  },
});

const update = command({
  name: 'update',
  args: ['notification'],
  description: 'Change a notification; each filter that is given replaces the one before.',
  flags: {
    name: text('<name>', 'new name'),
    url: text('<address>', 'where to send to'),
    ...filterFlags,
    allEvents: toggle('of every end of a deployment'),
    allApps: toggle('of all apps'),
    allEnvironments: toggle('in all environments'),
    ...projectFlags,
  },
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
    if (Object.keys(body).length === 0) throw usageFailure('There is nothing to change.', 'see --help');
    const place = placeOf(context, { ...flags, environment: undefined });
    const path = place.path('notifications', args.notification);
    context.print(shown(await place.api.call('PATCH', path, notificationView, { body })), flags.output);
  },
});

const switched = (name: 'enable' | 'disable', enabled: boolean, description: string) =>
  command({
    name,
    args: ['notification'],
    description,
    flags: { ...unaskedFlag, ...projectFlags },
    examples: [`svc notification ${name} ops`],
    async run({ context, args, flags }) {
      const place = placeOf(context, { ...flags, environment: undefined });
      const path = place.path('notifications', args.notification);
      context.print(shown(await place.api.call('PATCH', path, notificationView, { body: { enabled } })), flags.output);
    },
  });

const rotate = command({
  name: 'rotate',
  args: ['notification'],
  description: 'Make a new secret, shown once; the old one signs nothing any more, and what is refused is sent again.',
  flags: projectFlags,
  examples: ['svc notification rotate ops'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    const path = place.path('notifications', args.notification, 'rotate');
    context.print(shown(await place.api.call('POST', path, notificationWithSecret)), flags.output);
  },
});

const remove = command({
  name: 'delete',
  args: ['notification'],
  description: 'Delete a notification and everything that waits to be sent.',
  flags: { ...yesFlag, project: scopeFlags.project, api: apiFlags.api },
  examples: ['svc notification delete ops --yes'],
  async run({ context, args, flags }) {
    const place = placeOf(context, { ...flags, environment: undefined });
    await confirm(context, flags, `Delete notification ${args.notification} of ${place.project}?`);
    await place.api.send('DELETE', place.path('notifications', args.notification));
    context.say(`notification ${args.notification} is deleted`);
  },
});

export const notificationCommands: Commands = {
  commands: [
    ...[create, list, show, update],
    switched('enable', true, 'Send again, from the next deployment on.'),
    switched('disable', false, 'Send nothing; what waits to be sent is given up.'),
    ...[rotate, testCommand, deliveriesCommand, redeliverCommand, remove],
  ],
};
