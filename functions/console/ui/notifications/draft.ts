import type { NotificationView } from '../../../../runtime/contracts/api/notifications.ts';
import type { NotificationOwner } from './owner.ts';
import { shortEvent } from './target.ts';

/** What the form of a notification has, without its URL, which can be a secret of the receiver. The API checks it. */
export interface NotificationDraft {
  name: string;
  events: readonly string[];
  /** Names, separated by commas; empty for all. */
  apps: string;
  /** As the apps. */
  environments: string;
}

/** A new notification: all events of all apps in all environments. */
export const newNotification = ({ events }: NotificationOwner): NotificationDraft => ({
  name: '',
  events,
  apps: '',
  environments: '',
});

/** What the form of a notification shows first. */
export function draftOf({ name, events, apps = [], environments = [] }: NotificationView): NotificationDraft {
  return { name, events, apps: apps.join(', '), environments: environments.join(', ') };
}

function namesOf(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '');
}

const filters = ['apps', 'environments'] as const;
const flags = { apps: 'app', environments: 'environment' } as const;

const areSame = (before: readonly string[], after: readonly string[]) =>
  before.length === after.length && before.every((word) => after.includes(word));

const hasAllEvents = (owner: NotificationOwner, { events }: NotificationDraft) => areSame(owner.events, events);

/** The body of the request that creates the notification. A filter without names is left out. */
export function createBody(draft: NotificationDraft, url: string): Record<string, unknown> {
  const chosen = filters
    .map((filter) => [filter, namesOf(draft[filter])] as const)
    .filter(([, names]) => names.length > 0);
  return { name: draft.name, url, events: draft.events, ...Object.fromEntries(chosen) };
}

/** What differs between two drafts, in the order of the form. */
function changedFields(before: NotificationDraft, after: NotificationDraft): (keyof NotificationDraft)[] {
  return [
    ...(before.name === after.name ? [] : (['name'] as const)),
    ...(areSame(before.events, after.events) ? [] : (['events'] as const)),
    ...filters.filter((filter) => namesOf(before[filter]).join() !== namesOf(after[filter]).join()),
  ];
}

/**
 * The body of the request that changes what differs and nothing else, so that what others change meanwhile stays.
 * @param url the new one; undefined if it stays
 */
export function changeBody(
  before: NotificationDraft,
  after: NotificationDraft,
  url: string | undefined,
): Record<string, unknown> {
  const entries = changedFields(before, after).map((field) => {
    if (field === 'name' || field === 'events') return [field, after[field]] as const;
    const names = namesOf(after[field]);
    return [field, names.length === 0 ? null : names] as const;
  });
  return { ...Object.fromEntries(entries), ...(url !== undefined && { url }) };
}

/** Stands for the URL, which a command never has. */
const urlFlag = ['--url', 'https://hooks.example.com/svc'];

const eventFlags = ({ events }: NotificationDraft) => events.flatMap((event) => ['--event', shortEvent(event)]);
const filterFlags = (draft: NotificationDraft, filter: (typeof filters)[number]) =>
  namesOf(draft[filter]).flatMap((name) => [`--${flags[filter]}`, name]);

/** The words of the owner's command that creates the same notification. */
export function createWords(owner: NotificationOwner, draft: NotificationDraft): string[] {
  return [
    ...['create', draft.name.trim() || 'ops', ...urlFlag],
    ...(hasAllEvents(owner, draft) ? [] : eventFlags(draft)),
    ...filters.flatMap((filter) => filterFlags(draft, filter)),
  ];
}

/** The words of the owner's command that makes the same change. Only with a new URL they have one to replace. */
export function changeWords(
  owner: NotificationOwner,
  before: NotificationDraft,
  after: NotificationDraft,
  hasNewUrl: boolean,
): string[] {
  const changes = changedFields(before, after).flatMap((field) => {
    if (field === 'name') return ['--name', after.name];
    if (field === 'events') {
      // Alerts have two events, so that their command names both.
      return hasAllEvents(owner, after) && owner.project !== undefined ? ['--all-events'] : eventFlags(after);
    }
    const names = filterFlags(after, field);
    return names.length === 0 ? [`--all-${field}`] : names;
  });
  return ['update', before.name, ...changes, ...(hasNewUrl ? urlFlag : [])];
}
