import {
  notificationView,
  notificationWithSecret,
  type NotificationView,
} from '../../runtime/contracts/api/notifications.ts';
import { command, type Command } from '../command.ts';
import { noPromptFlag } from '../common-flags.ts';
import type { Context } from '../context.ts';
import { defineKind, type Kind } from '../kind.ts';
import { ageColumn, type OutputFormat } from '../output.ts';
import type { Scope } from '../scope.ts';

/** A notification; only a new one and one with a new secret have it. */
type PrintableNotification = NotificationView & { secret?: string };

/** The notifications of a project, or those of the platform. */
export type NotificationKind = Kind<PrintableNotification>;

const status = ({ enabled }: NotificationView) => (enabled ? 'enabled' : 'disabled');

/** Declares the notifications of projects or of the platform. */
export function defineNotificationKind({
  event,
  filters = [],
  ...definition
}: Pick<Parameters<typeof defineKind<PrintableNotification>>[0], 'examples' | 'help' | 'level' | 'name'> & {
  collection: 'notifications' | 'platform/notifications';
  /** An event in the words of the command. */
  event: (event: string) => string;
  /** What else a notification is limited to; absent means no limit. */
  filters?: readonly { name: string; value: (view: NotificationView) => readonly string[] | null | undefined }[];
}): NotificationKind {
  return defineKind<PrintableNotification>({
    ...definition,
    schema: notificationView,
    id: ({ name }) => name,
    columns: (_, { now }) => [
      { title: 'STATUS', value: status },
      { title: 'EVENTS', value: ({ events }) => events.map(event).join(',') },
      ...filters.map(({ name, value }) => ({
        title: name.toUpperCase(),
        value: (view: NotificationView) => value(view)?.join(',') ?? 'all',
      })),
      { title: 'URL', value: ({ url }) => url },
      ageColumn(now),
    ],
    details: (view) => [
      ['Notification', view.name],
      ['URL', view.url],
      ['Events', view.events.map(event).join(', ')],
      ...filters.map(({ name, value }) => [name, value(view)?.join(', ') ?? 'all'] as const),
      ['Status', status(view)],
      ['Reason', view.disabledReason],
      ['Secret', view.secret],
    ],
    immediate: true,
  });
}

/** Creates a notification, and prints it with its secret. */
export async function createNotification(
  kind: NotificationKind,
  { context, scope, body }: { context: Context; scope: Scope; body: object },
  format: OutputFormat | undefined,
): Promise<void> {
  const created = await scope.api.call('POST', scope.path(kind.collection), notificationWithSecret, { body });
  kind.print(context, created, format);
  context.say(
    'store the secret now, it is not shown again; it verifies webhook-signature (https://www.standardwebhooks.com)',
  );
}

/** The command `enable` or `disable`. */
export function switchCommand(kind: NotificationKind, name: 'enable' | 'disable', description: string): Command {
  return command({
    name,
    args: ['notification'],
    description,
    flags: { ...noPromptFlag, ...kind.flags },
    examples: [`svc ${kind.name} ${name} ops`],
    async run({ context, args, flags }) {
      const enabled = name === 'enable';
      const changed = await kind.update(kind.resolve(context, flags), args.notification, { enabled });
      kind.print(context, changed, flags.output);
    },
  });
}

/** The command `rotate`. */
export function rotateCommand(kind: NotificationKind): Command {
  return command({
    name: 'rotate',
    args: ['notification'],
    description: 'Replace the secret. Rejected messages are retried with the new one.',
    flags: kind.flags,
    examples: [`svc ${kind.name} rotate ops`],
    async run({ context, args, flags }) {
      const scope = kind.resolve(context, flags);
      const path = kind.path(scope, args.notification, 'rotate');
      kind.print(context, await scope.api.call('POST', path, notificationWithSecret), flags.output);
    },
  });
}
