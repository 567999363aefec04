import type { ApiClient } from './client.ts';
import { segment } from './client.ts';
import type { Context } from './context.ts';

/** Where one command about apps acts. */
export interface Place {
  api: ApiClient;
  project: string;
  query: { environment: string | undefined };
  /** The path of the collection, or of something below one item of it. */
  path(
    collection:
      | 'apps'
      | 'functions'
      | 'jobs'
      | 'volumes'
      | 'services'
      | 'plans'
      | 'api-keys'
      | 'deployments'
      | 'members'
      | 'notifications',
    item?: string,
    below?: string,
  ): string;
  /** For commands that are advised: `--project shop --environment prod`. */
  flags: string;
}

/** The API client and the paths of the project and environment that the flags name. @throws Failure */
export function placeOf(
  context: Context,
  flags: { api: string | undefined; project: string | undefined; environment: string | undefined },
): Place {
  const { project, environment } = context.scope(flags);
  return {
    api: context.api(flags),
    project,
    query: { environment },
    path: (collection, item, below) =>
      [
        `/projects/${segment(project)}/${collection}`,
        ...(item === undefined ? [] : [segment(item)]),
        ...(below ? [below] : []),
      ].join('/'),
    flags: `--project ${project}${environment === undefined ? '' : ` --environment ${environment}`}`,
  };
}
