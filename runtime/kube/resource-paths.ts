import { kinds, type ResourceKind } from '../contracts/resources/kinds.ts';

const kindsByName = new Map<string, ResourceKind>(
  Object.values(kinds).map((kind) => [`${kind.apiVersion}/${kind.kind}`, kind]),
);

/** The resource of an object's kind. @throws Error for a kind that `kinds` does not list */
export function resourceOf({ apiVersion, kind }: { apiVersion: string; kind: string }): ResourceKind {
  const resource = kindsByName.get(`${apiVersion}/${kind}`);
  if (!resource) throw new Error(`the platform does not use the resource ${apiVersion} ${kind}`);
  return resource;
}

/** The path of a kind's collection; of all namespaces for a namespaced kind without a namespace. */
export function collectionPath({ apiVersion, plural, namespaced }: ResourceKind, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = namespaced && namespace !== undefined ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${plural}`;
}

/** The path of one object. @throws Error for a namespaced kind without a namespace */
export function objectPath(kind: ResourceKind, name: string, namespace?: string): string {
  if (kind.namespaced && namespace === undefined) throw new Error(`${kind.kind} "${name}" needs a namespace`);
  // An empty name would address the whole collection.
  if (name === '') throw new Error(`${kind.kind} without a name`);
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}
