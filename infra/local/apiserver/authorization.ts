import { masters, type User } from './authentication.ts';
import { isJson, objects, valueAt, type Json } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Store } from './store.ts';

/** What somebody wants to do. */
export interface Attributes {
  verb: string;
  group: string;
  /** With the subresource: `pods/log`. */
  resource: string;
  namespace: string | undefined;
  name: string;
  /** Of a request that is about no resource. */
  path?: string;
}

const rbac = 'rbac.authorization.k8s.io';
/** What everybody who is somebody may read: which kinds there are. */
const publicPaths = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/;

const strings = (value: unknown): string[] =>
  Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
const includes = (value: unknown, wanted: string) => strings(value).some((item) => item === '*' || item === wanted);

/** Whether a user may do something, by the roles that are bound to them. https://kubernetes.io/docs/reference/access-authn-authz/rbac/ */
export function isAllowed(store: Store, user: User, attributes: Attributes): boolean {
  if (user.groups.includes(masters)) return true;
  if (attributes.path !== undefined) return attributes.verb === 'get' && publicPaths.test(attributes.path);
  const { namespace } = attributes;
  const bindings = [
    ...store.list(`${rbac}/clusterrolebindings`),
    ...(namespace === undefined ? [] : store.list(`${rbac}/rolebindings`, namespace)),
  ];
  return bindings
    .filter((binding) => objects(binding['subjects']).some((subject) => isSubject(subject, user)))
    .flatMap((binding) => rulesOf(store, binding))
    .some((rule) => covers(rule, attributes));
}

function isSubject({ kind, name, namespace }: Json, user: User): boolean {
  if (kind === 'ServiceAccount') return user.name === `system:serviceaccount:${String(namespace)}:${String(name)}`;
  if (kind === 'Group') return user.groups.includes(String(name));
  return kind === 'User' && user.name === name;
}

function rulesOf(store: Store, binding: ApiObject): Json[] {
  const ref = isJson(binding['roleRef']) ? binding['roleRef'] : {};
  const name = String(ref['name']);
  const role =
    ref['kind'] === 'ClusterRole'
      ? store.get(`${rbac}/clusterroles`, undefined, name)
      : store.get(`${rbac}/roles`, binding.metadata.namespace, name);
  return objects(valueAt(role, 'rules'));
}

function covers(rule: Json, { verb, group, resource, name }: Attributes): boolean {
  const { verbs, apiGroups, resources, resourceNames } = rule;
  const subresource = resource.includes('/') ? `*/${resource.split('/')[1] ?? ''}` : resource;
  if (!includes(verbs, verb) || !includes(apiGroups, group)) return false;
  if (!includes(resources, resource) && !includes(resources, subresource)) return false;
  return strings(resourceNames).length === 0 || strings(resourceNames).includes(name);
}
