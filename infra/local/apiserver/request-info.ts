import { noSuchResource } from './api-error.ts';

/** The resource in a request's path. */
export interface ResourcePath {
  group: string;
  version: string;
  plural: string;
  namespace: string | undefined;
  /** Empty for a collection. */
  name: string;
  subresource: string | undefined;
}

/**
 * Parses the path of a resource. @returns undefined for other paths, such as discovery and health @throws ApiError 404
 */
export function resourcePath(pathname: string): ResourcePath | undefined {
  const [root, ...parts] = pathname.split('/').filter(Boolean).map(decodeSegment);
  if (root !== 'api' && root !== 'apis') return undefined;
  const group = root === 'apis' ? parts.shift() : '';
  const [version, ...place] = parts;
  if (group === undefined || version === undefined || place.length === 0) return undefined;
  // `/namespaces/<name>/status` is a subresource of the namespace; anything else below a namespace is a resource in it.
  const isNamespaced = place[0] === 'namespaces' && place.length > 2 && !(place.length === 3 && place[2] === 'status');
  const [plural = '', name = '', subresource, ...more] = isNamespaced ? place.slice(2) : place;
  if (more.length > 0) throw noSuchResource();
  return { group, version, plural, namespace: isNamespaced ? place[1] : undefined, name, subresource };
}

function decodeSegment(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw noSuchResource();
  }
}

const verbs: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** The RBAC verb of a request. */
export function verbOf(method: string, name: string, query: URLSearchParams): string {
  if (method === 'DELETE' && !name) return 'deletecollection';
  if (method !== 'GET') return verbs[method] ?? method.toLowerCase();
  if (isWatch(query)) return 'watch';
  return name ? 'get' : 'list';
}

/** Whether a GET is a watch. */
export function isWatch(query: URLSearchParams): boolean {
  return ['true', '1', ''].includes(query.get('watch') ?? 'false');
}
