import { segment, type ApiClient } from './client.ts';
import type { Context } from './context.ts';

/** A collection of the management API. */
type Collection =
  | 'account/sessions'
  | 'api-keys'
  | 'applied-configurations'
  | 'apps'
  | 'assistant/conversations'
  | 'audit'
  | 'builds'
  | 'deployments'
  | 'environments'
  | 'functions'
  | 'images'
  | 'jobs'
  | 'members'
  | 'notifications'
  | 'plans'
  | 'platform/audit'
  | 'platform/notifications'
  | 'projects'
  | 'services'
  | 'tokens'
  | 'sources'
  | 'top'
  | 'users'
  | 'volumes'
  | 'watch';

/** Where a command acts: in an environment, in a whole project, or on the whole platform. */
export interface Scope {
  api: ApiClient;
  /** Empty for the whole platform. */
  project: string;
  query: { environment: string | undefined };
  /** The path of a collection, of an item, or of a resource below an item. */
  path(collection: Collection, item?: string, below?: string): string;
  /** The flags for a command in a hint: `--project shop --environment prod`. */
  flags: string;
}

interface ScopeFlags {
  api: string | undefined;
  project: string | undefined;
  environment: string | undefined;
}

/** The scope of a command about an environment. @throws Failure when no project or no address is known */
export function resolveScope(context: Context, flags: ScopeFlags): Scope {
  const { project, environment } = context.scope(flags);
  return {
    ...resolvePlatform(context, flags),
    project,
    query: { environment },
    path: (...names) => `/projects/${segment(project)}${pathOf(...names)}`,
    flags: `--project ${project}${environment === undefined ? '' : ` --environment ${environment}`}`,
  };
}

/** The scope of a command about a whole project. @throws Failure when no project or no address is known */
export function resolveProject(context: Context, flags: Omit<ScopeFlags, 'environment'>): Scope {
  const scope = resolveScope(context, { ...flags, environment: undefined });
  return { ...scope, query: { environment: undefined }, flags: `--project ${scope.project}` };
}

/** The scope of a command about the whole platform. @throws Failure when no address is known */
export function resolvePlatform(context: Context, flags: Pick<ScopeFlags, 'api'>): Scope {
  return { api: context.api(flags), project: '', query: { environment: undefined }, path: pathOf, flags: '' };
}

function pathOf(collection: Collection, item?: string, below?: string): string {
  return [`/${collection}`, ...(item === undefined ? [] : [segment(item)]), ...(below ? [below] : [])].join('/');
}
