import { commandOf, placeFlags } from '../api/command.ts';
import { shellText } from '../text/shell.ts';
import type { Entry } from './entry.ts';
import type { FindPath, PlaceName } from './places.ts';

const words = shellText.palette;

/** A form that creates an object. */
interface Creation {
  what: keyof typeof words.create;
  page: PlaceName;
  /** The words of a command that creates one, without the flags of the place. */
  command: readonly string[];
}

/** In an environment, for deployers: each has a page of its own. */
const forms: readonly Creation[] = [
  { what: 'app', page: 'newApp', command: ['app', 'create', 'api', '--image', 'registry.example.com/shop/api:1.0'] },
  {
    what: 'function',
    page: 'newFunction',
    command: ['function', 'create', 'hello', '--runtime', 'node', '--code-file', 'handler.mjs'],
  },
  {
    what: 'job',
    page: 'newJob',
    command: ['job', 'create', 'report', '--image', 'registry.example.com/shop/report:7'],
  },
  { what: 'service', page: 'newService', command: ['service', 'create', 'orders', '--type', 'postgres'] },
  { what: 'volume', page: 'newVolume', command: ['volume', 'create', 'data', '--size', '10Gi'] },
];
const plan: Creation = {
  what: 'plan',
  page: 'plans',
  command: ['plan', 'create', 'small', '--rate', '5', '--burst', '10'],
};
/** In a project, for its admins: dialogs. */
const projectDialogs: readonly Creation[] = [
  { what: 'environment', page: 'settings', command: ['environment', 'create', 'staging'] },
  { what: 'member', page: 'members', command: ['member', 'set', 'dana@example.com', '--role', 'viewer'] },
  {
    what: 'notification',
    page: 'notifications',
    command: ['notification', 'create', 'ops', '--url', 'https://hooks.example.com/svc'],
  },
];
const project: Creation = {
  what: 'project',
  page: 'projects',
  command: ['project', 'create', 'shop', '--environment', 'prod'],
};
const platformNotification: Creation = {
  what: 'platformNotification',
  page: 'platformNotifications',
  command: ['platform', 'notification', 'create', 'ops', '--url', 'https://hooks.example.com/svc'],
};
const user: Creation = { what: 'user', page: 'users', command: ['user', 'create', 'dana@example.com'] };

interface CreationSources {
  find: FindPath;
  isAdmin: boolean;
  here: { project?: string | undefined; environment?: string | undefined };
  plans: readonly { name: string }[];
  mayDeploy: boolean;
  mayAdminister: boolean;
}

/** The lines that open the forms of new objects: those that the user may use where the page is. Pure. */
export function creationsOf({ find, isAdmin, here, plans, mayDeploy, mayAdminister }: CreationSources): Entry[] {
  const entry = ({ what, page, command }: Creation, flags: readonly string[], detail?: string): Entry[] => {
    const path = find(page, here);
    if (path === undefined) return [];
    return [
      {
        id: `create ${what}`,
        kind: words.action,
        title: words.create[what],
        ...(detail !== undefined && { detail }),
        command: commandOf(...command, ...flags),
        target: { to: 'path', path: forms.some((form) => form.page === page) ? path : `${path}?create=true` },
      },
    ];
  };
  const inEnvironment = (creation: Creation) =>
    here.project === undefined || here.environment === undefined
      ? []
      : entry(
          creation,
          placeFlags({ project: here.project, environment: here.environment }),
          `${here.project} / ${here.environment}`,
        );
  const inProject = (creation: Creation) =>
    here.project === undefined ? [] : entry(creation, ['--project', here.project], here.project);
  // Without a plan, there is no key.
  const keys = plans
    .slice(0, 1)
    .map(({ name }): Creation => ({ what: 'key', page: 'keys', command: ['key', 'create', '--plan', name] }));
  return [
    ...(mayDeploy ? forms.flatMap(inEnvironment) : []),
    ...(mayAdminister ? [...[...keys, plan].flatMap(inEnvironment), ...projectDialogs.flatMap(inProject)] : []),
    ...entry(project, []),
    ...(isAdmin ? [user, platformNotification].flatMap((creation) => entry(creation, [])) : []),
  ];
}
