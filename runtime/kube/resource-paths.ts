import { kinds, type ResourceKind } from '../contracts/resources/kinds.ts';
import { KubeError } from './kube-client.ts';

const kindsByName = new Map<string, ResourceKind>(
  Object.values(kinds).map((kind) => [`${kind.apiVersion}/${kind.kind}`, kind]),
);

/** The resource of an object's kind. @throws Error for a kind that `kinds` does not list */
export function resourceOf({ apiVersion, kind }: { apiVersion: string; kind: string }): ResourceKind {
  const resource = kindsByName.get(`${apiVersion}/${kind}`);
  if (!resource) throw new Error(`the platform does not use the resource ${apiVersion} ${kind}`);
  return resource;
}

/**
 * A name as a part of a path. The API server decodes the path before it divides it, and `new URL` folds dots, so that such
 * a name would address a subresource or another object.
 * https://kubernetes.io/docs/concepts/overview/working-with-objects/names/#path-segment-names
 * @throws KubeError 404 for a name that no object can have
 */
function segment(name: string): string {
  if (name === '.' || name === '..' || /[/%]/.test(name)) {
    throw new KubeError(404, 'NotFound', `no object has the name ${JSON.stringify(name)}`);
  }
  return encodeURIComponent(name);
}

/**
 * The path of a kind's collection; of all namespaces for a namespaced kind without a namespace.
 * @throws KubeError 404 for a namespace that cannot exist
 */
export function collectionPath({ apiVersion, plural, namespaced }: ResourceKind, namespace?: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const scope = namespaced && namespace !== undefined ? `/namespaces/${segment(namespace)}` : '';
  return `${root}${scope}/${plural}`;
}

/** The path of one object. @throws Error for a namespaced kind without a namespace; KubeError 404 for a name that cannot be */
export function objectPath(kind: ResourceKind, name: string, namespace?: string): string {
  if (kind.namespaced && namespace === undefined) throw new Error(`${kind.kind} "${name}" needs a namespace`);
  // An empty name would address the whole collection.
  if (name === '') throw new Error(`${kind.kind} without a name`);
  return `${collectionPath(kind, namespace)}/${segment(name)}`;
}
