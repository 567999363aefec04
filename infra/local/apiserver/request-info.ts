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
  const [version, ...place] = parts;
  if (group === undefined || version === undefined || place.length === 0) return undefined;
  // A namespace has a status of its own; anything else below it is a resource inside.
  const inside = place[0] === 'namespaces' && place.length > 2 && !(place.length === 3 && place[2] === 'status');
  const [plural = '', name = '', subresource, ...more] = inside ? place.slice(2) : place;
  if (more.length > 0) throw noSuchResource();
  return { group, version, plural, namespace: inside ? place[1] : undefined, name, subresource };
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
export function verbOf(method: string, name: string, query: URLSearchParams): string {
  if (method === 'DELETE' && !name) return 'deletecollection';
  if (method !== 'GET') return verbs[method] ?? method.toLowerCase();
  if (isWatch(query)) return 'watch';
  return name ? 'get' : 'list';
}

/** Whether a GET is to go on telling of changes. */
export function isWatch(query: URLSearchParams): boolean {
  return ['true', '1', ''].includes(query.get('watch') ?? 'false');
}
