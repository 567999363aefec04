import { noSuchResource } from './api-error.ts';

/** What the path of a request leads to. */
export interface ResourcePath {
  group: string;
  version: string;
  plural: string;
  namespace: string | undefined;
  /** Empty for a collection. */
  name: string;
  subresource: string | undefined;
}

/** A path of a resource, or undefined for one of discovery, health and the like. @throws ApiError 404 */
export function resourcePath(pathname: string): ResourcePath | undefined {
  const [root, ...parts] = pathname.split('/').filter(Boolean).map(decoded);
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'apis' ? parts.shift() : '';
  const version = parts.shift();
  const [first, second, ...rest] = parts;
  if (group === undefined || version === undefined || first === undefined) return undefined;
  // A namespace has its own two subresources; anything else below it is a resource inside.
  const inside = first === 'namespaces' && second !== undefined && rest.length > 0;
  const own = inside && rest.length === 1 && (rest[0] === 'status' || rest[0] === 'finalize');
  const [plural = '', name = '', subresource, ...more] = inside && !own ? rest : parts;
  if (more.length > 0) throw noSuchResource();
  return { group, version, plural, namespace: inside && !own ? second : undefined, name, subresource };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw noSuchResource();
  }
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** What a request does, as RBAC calls it. */
export function verbOf(method: string, { name }: Pick<ResourcePath, 'name'>, query: URLSearchParams): string {
  if (method === 'DELETE' && !name) return 'deletecollection';
  if (method !== 'GET' && method !== 'HEAD') return verbs[method] ?? method.toLowerCase();
  if (isWatch(query)) return 'watch';
  return name ? 'get' : 'list';
}

/** Whether a GET is to go on telling of changes. */
export function isWatch(query: URLSearchParams): boolean {
  return ['true', '1', ''].includes(query.get('watch') ?? 'false');
}
