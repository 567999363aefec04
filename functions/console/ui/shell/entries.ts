import { commandOf, placeFlags } from '../api/command.ts';
import type { Place } from '../api/queries.ts';
import { shellText } from '../text/shell.ts';
import { text } from '../text/common.ts';
import { creationsOf } from './creations.ts';
import type { Entry } from './entry.ts';
import type { FindPath } from './places.ts';
import type { RecentObject } from './recent.ts';

const words = shellText.palette;

type WorkloadKind = 'app' | 'function' | 'job' | 'service' | 'volume';

export interface WorkloadObject {
  kind: WorkloadKind;
  name: string;
  environment: string;
  /** Of an app or function. */
  url?: string | undefined;
}

interface Sources {
  find: FindPath;
  isAdmin: boolean;
  projects: readonly { name: string; environments: readonly { name: string }[] }[];
  here: { project?: string | undefined; environment?: string | undefined };
  /** Those of the project. */
  objects: readonly WorkloadObject[];
  /** Those of the environment. */
  keys: readonly { id: string; handle: string; name?: string | undefined }[];
  plans: readonly { id: string; name: string }[];
  mayDeploy: boolean;
  /** Whether the user is an admin of the project. */
  mayAdminister: boolean;
}

/** The page of an object; where it has none, its environment, which lists it. */
function pathOfObject(
  find: FindPath,
  project: string,
  { kind, name, environment }: WorkloadObject,
): string | undefined {
  const place = { project, environment };
  return find(kind, { ...place, [kind]: name }) ?? find('overview', place);
}

function at(path: string | undefined, entry: Omit<Entry, 'target'>): Entry[] {
  return path === undefined ? [] : [{ ...entry, target: { to: 'path', path } }];
}

/** All lines that the palette can show. Pure. */
export function entriesOf(sources: Sources): Entry[] {
  const { here, find } = sources;
  const project = here.project;
  return [
    ...(project === undefined ? [] : objectsOf(sources, project)),
    ...(project === undefined || here.environment === undefined
      ? []
      : accessOf(sources, { project, environment: here.environment })),
    ...sources.projects.flatMap(({ name, environments }) =>
      environments.flatMap(({ name: environment }) => {
        const place = { project: name, environment };
        return at(find('overview', place), {
          id: `environment ${name} ${environment}`,
          kind: words.environment,
          title: `${name} / ${environment}`,
          command: commandOf('top', ...placeFlags(place)),
        });
      }),
    ),
    ...sources.projects.flatMap(({ name }) =>
      at(find('settings', { project: name }), {
        id: `project ${name}`,
        kind: words.project,
        title: name,
        command: commandOf('project', 'show', name),
      }),
    ),
    ...pagesOf(sources),
    ...creationsOf(sources),
    {
      id: 'assistant',
      kind: words.action,
      title: words.askAssistant,
      command: commandOf('ask', '…', ...(project === undefined ? [] : ['--project', project])),
      target: { to: 'assistant' },
    },
    { id: 'shortcuts', kind: words.action, title: words.shortcuts, target: { to: 'shortcuts' } },
    {
      id: 'sign-out',
      kind: words.action,
      title: words.signOut,
      command: commandOf('logout'),
      target: { to: 'sign-out' },
    },
  ];
}

function objectsOf({ find, objects, mayDeploy }: Sources, project: string): Entry[] {
  return objects.flatMap((object) => {
    const { kind, name, environment, url } = object;
    const place = { project, environment };
    const flags = placeFlags(place);
    return [
      ...at(pathOfObject(find, project, object), {
        id: `${kind} ${environment} ${name}`,
        kind: text.kinds[kind],
        title: name,
        detail: environment,
        command: commandOf(kind, 'show', name, ...flags),
      }),
      ...(kind === 'app' && mayDeploy
        ? [
            {
              id: `restart ${environment} ${name}`,
              kind: words.action,
              title: words.restart(name),
              detail: environment,
              command: commandOf('app', 'restart', name, ...flags),
              target: { to: 'restart' as const, place, app: name },
            },
          ]
        : []),
      ...(url !== undefined && /^https?:\/\//.test(url)
        ? [
            {
              id: `open ${environment} ${name}`,
              kind: words.action,
              title: words.openUrl(name),
              detail: environment,
              command: commandOf('open', name, ...flags),
              target: { to: 'url' as const, url },
            },
          ]
        : []),
    ];
  });
}

function accessOf({ find, keys, plans }: Sources, place: Place): Entry[] {
  const flags = placeFlags(place);
  return [
    ...keys.flatMap(({ id, handle, name }) =>
      at(find('key', { ...place, key: handle }) ?? find('keys', { ...place }), {
        id: `key ${id}`,
        kind: words.key,
        title: name === undefined ? handle : `${name} (${handle})`,
        detail: place.environment,
        command: commandOf('key', 'show', handle, ...flags),
      }),
    ),
    ...plans.flatMap(({ id, name }) =>
      at(find('plans', { ...place }), {
        id: `plan ${id}`,
        kind: words.plan,
        title: name,
        detail: place.environment,
        command: commandOf('plan', 'show', name, ...flags),
      }),
    ),
  ];
}

function pagesOf({ find, here, isAdmin, mayAdminister }: Sources): Entry[] {
  const page = (name: Parameters<FindPath>[0], title: string, command: string) =>
    at(find(name, here), { id: `page ${name}`, kind: words.page, title, command, ...detailOf(name, here) });
  const { project, environment } = here;
  const flags = project === undefined || environment === undefined ? [] : placeFlags({ project, environment });
  const pages = shellText.navigation;
  return [
    ...page('projects', pages.projects, commandOf('project', 'list')),
    ...page('keys', pages.keys, commandOf('key', 'list', ...flags)),
    ...page('plans', pages.plans, commandOf('plan', 'list', ...flags)),
    ...page('images', pages.images, commandOf('image', 'list', ...flags)),
    ...page('settings', pages.settings, commandOf('project', 'show', project)),
    ...page('members', pages.members, commandOf('member', 'list', '--project', project)),
    ...(mayAdminister
      ? [
          ...page('notifications', pages.notifications, commandOf('notification', 'list', '--project', project)),
          ...page('audit', pages.audit, commandOf('audit', '--project', project)),
        ]
      : []),
    ...page('account', pages.account, commandOf('whoami')),
    ...(isAdmin
      ? [
          ...page('platform', pages.platform, commandOf('platform', 'status')),
          ...page('platformNotifications', pages.platformNotifications, commandOf('platform', 'notification', 'list')),
          ...page('logDrain', pages.logDrain, commandOf('platform', 'log-drain', 'show')),
          ...page('platformAssistant', pages.platformAssistant, commandOf('platform', 'assistant', 'show')),
          ...page('platformAudit', pages.platformAudit, commandOf('audit', '--platform')),
          ...page('users', pages.users, commandOf('user', 'list')),
        ]
      : []),
  ];
}

function detailOf(name: string, { project, environment }: Sources['here']): { detail?: string } {
  if (['settings', 'members', 'notifications', 'audit'].includes(name) && project !== undefined)
    return { detail: project };
  if (['keys', 'plans', 'images'].includes(name) && environment !== undefined) return { detail: environment };
  return {};
}

/** The lines of objects that the user opened before, of any project. Pure. */
export function recentEntries(recent: readonly RecentObject[]): Entry[] {
  return recent.map(({ path, kind, name, project, environment }) => ({
    id: `recent ${path}`,
    kind: text.kinds[kind as WorkloadKind],
    title: name,
    detail: `${project} / ${environment}`,
    command: commandOf(kind, 'show', name, ...placeFlags({ project, environment })),
    target: { to: 'path', path },
  }));
}
