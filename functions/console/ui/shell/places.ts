import { useParams, useRouter } from '@tanstack/react-router';

/** The pages that the navigation, the palette and the shortcuts lead to, each by the path of its route. */
export const places = {
  projects: '/',
  platform: '/platform',
  platformNotifications: '/platform/notifications',
  logDrain: '/platform/log-drain',
  platformAssistant: '/platform/assistant',
  platformAudit: '/platform/audit',
  users: '/users',
  user: '/users/$user',
  account: '/account',
  settings: '/projects/$project',
  members: '/projects/$project/members',
  notifications: '/projects/$project/notifications',
  audit: '/projects/$project/audit',
  overview: '/projects/$project/environments/$environment',
  keys: '/projects/$project/environments/$environment/keys',
  key: '/projects/$project/environments/$environment/keys/$key',
  plans: '/projects/$project/environments/$environment/plans',
  images: '/projects/$project/environments/$environment/images',
  app: '/projects/$project/environments/$environment/apps/$app',
  deployments: '/projects/$project/environments/$environment/apps/$app/deployments',
  appLogs: '/projects/$project/environments/$environment/apps/$app/logs',
  function: '/projects/$project/environments/$environment/functions/$function',
  functionLogs: '/projects/$project/environments/$environment/functions/$function/logs',
  functionEvents: '/projects/$project/environments/$environment/functions/$function/events',
  job: '/projects/$project/environments/$environment/jobs/$job',
  newApp: '/projects/$project/environments/$environment/new-app',
  newFunction: '/projects/$project/environments/$environment/new-function',
  newJob: '/projects/$project/environments/$environment/new-job',
  newService: '/projects/$project/environments/$environment/new-service',
  newVolume: '/projects/$project/environments/$environment/new-volume',
  jobRuns: '/projects/$project/environments/$environment/jobs/$job/runs',
  service: '/projects/$project/environments/$environment/services/$service',
  volume: '/projects/$project/environments/$environment/volumes/$volume',
} as const;

export type PlaceName = keyof typeof places;

/** The pages that only platform admins can see. */
export const adminPlaces: readonly PlaceName[] = ['platform', 'users'];

/**
 * The path of a page; undefined where the router has no such page, or a parameter is missing. Parameters are one segment
 * each.
 */
export type FindPath = (name: PlaceName, params?: Readonly<Record<string, string | undefined>>) => string | undefined;

/** What the address says about where the user is. */
export function useHere(): { project?: string | undefined; environment?: string | undefined } {
  const { project, environment }: { project?: string; environment?: string } = useParams({ strict: false });
  return { project, environment };
}

/** Finds the paths of pages in the router of the console. */
export function useFindPath(): FindPath {
  const router = useRouter();
  return (name, params = {}) => {
    const pattern = places[name];
    if (!Object.hasOwn(router.routesByPath, pattern)) return undefined;
    const parts: string[] = [];
    for (const part of pattern.split('/')) {
      const value = part.startsWith('$') ? params[part.slice(1)] : part;
      if (value === undefined || (part !== '' && value === '')) return undefined;
      parts.push(encodeURIComponent(value));
    }
    return parts.join('/');
  };
}

/** Whether the console has a page, in whatever project. */
export function useHasPlace(): (name: PlaceName) => boolean {
  const router = useRouter();
  return (name) => Object.hasOwn(router.routesByPath, places[name]);
}
