import { alertEvents, notificationEvents } from '../../../../runtime/domain/notification.ts';
import { commandOf } from '../api/command.ts';
import { notificationText } from '../text/notifications.ts';

/** Whose notifications a page shows: those of a project, about deployments, or of the platform, about alerts. */
export interface NotificationOwner {
  /** Absent for the platform. */
  project?: string;
  /** The parts of the path of its notifications. */
  path: readonly string[];
  /** The first parts of the keys of queries about them. */
  key: readonly (string | null)[];
  /** What a notification can be about. */
  events: readonly NotificationType[];
  text: { hint: string; empty: string; emptyHint: string };
  /** A command of `svc` about a notification. */
  command: (...words: readonly string[]) => string;
}

type NotificationType = keyof typeof notificationText.eventNames;

/** Keys of what belongs to no environment have null in its place. */
export const ownerOf = (project: string): NotificationOwner => ({
  project,
  path: ['projects', project, 'notifications'],
  key: ['project', project, null, 'notifications'],
  events: notificationEvents,
  text: notificationText.ofProject,
  command: (...words) => commandOf('notification', ...words, '--project', project),
});

export const platformOwner: NotificationOwner = {
  path: ['platform', 'notifications'],
  key: ['platform', 'notifications'],
  events: alertEvents,
  text: notificationText.ofPlatform,
  command: (...words) => commandOf('platform', 'notification', ...words),
};
