import type { User } from './user.ts';
import { masters } from './authentication.ts';
import { isJson, objects, valueAt, type Json } from './json.ts';
import type { ApiObject } from './resource.ts';
import type { Store } from './store.ts';

/** The action of a request. */
export interface Attributes {
  verb: string;
  group: string;
  /** With its subresource: `pods/log`. */
  resource: string;
  namespace: string | undefined;
  name: string;
  /** The path of a request that is not about a resource. */
  path?: string;
}

const rbac = 'rbac.authorization.k8s.io';
/** Paths that every authenticated user may read: discovery and health. */
const publicPaths = /^\/(api|apis|openapi|version|healthz|livez|readyz)(\/|$)/;

/** Decides whether a user may perform an action. */
export type Authorization = (user: User, attributes: Attributes) => boolean;

/** The permissions from one binding. Without a namespace they apply to all namespaces and to cluster-wide objects. */
interface Grant {
  namespace: string | undefined;
  rules: Rule[];
}

/** A rule of a role. Each set holds the values of the field of that name. */
interface Rule {
  verbs: Set<string>;
  apiGroups: Set<string>;
  resources: Set<string>;
  resourceNames: Set<string>;
}

/** Maximum number of users with cached grants. Each pod has at most one service account of its own. */
const maxCached = 1000;

/**
 * Authorization by the roles that are bound to a user. Grants are cached until a role or binding changes, since every
 * request needs them. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
export function createAuthorization(store: Store): Authorization {
  const cache = new Map<string, Grant[]>();
  for (const plural of ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings']) {
    store.subscribe(`${rbac}/${plural}`, () => cache.clear());
  }

  const grantsOf = (user: User): Grant[] => {
    const key = JSON.stringify([user.name, user.groups]);
    const cached = cache.get(key);
    if (cached) return cached;
    const bindings = [...store.list(`${rbac}/clusterrolebindings`), ...store.list(`${rbac}/rolebindings`)];
    const grants = bindings
      .filter((binding) => objects(binding['subjects']).some((subject) => isSubject(subject, user)))
      .map((binding) => ({ namespace: binding.metadata.namespace, rules: rulesOf(store, binding) }));
    if (cache.size >= maxCached) cache.clear();
    cache.set(key, grants);
    return grants;
  };

  return (user, attributes) => {
    if (user.groups.includes(masters)) return true;
    if (attributes.path !== undefined) return attributes.verb === 'get' && publicPaths.test(attributes.path);
    return grantsOf(user).some(
      ({ namespace, rules }) =>
        (namespace === undefined || namespace === attributes.namespace) &&
        rules.some((rule) => covers(rule, attributes)),
    );
  };
}

function isSubject({ kind, name, namespace }: Json, user: User): boolean {
  if (kind === 'ServiceAccount') return user.name === `system:serviceaccount:${String(namespace)}:${String(name)}`;
  if (kind === 'Group') return user.groups.includes(String(name));
  return kind === 'User' && user.name === name;
}

function rulesOf(store: Store, binding: ApiObject): Rule[] {
  const ref = isJson(binding['roleRef']) ? binding['roleRef'] : {};
  const name = String(ref['name']);
  const role =
    ref['kind'] === 'ClusterRole'
      ? store.get(`${rbac}/clusterroles`, undefined, name)
      : store.get(`${rbac}/roles`, binding.metadata.namespace, name);
  return objects(valueAt(role, 'rules')).map(({ verbs, apiGroups, resources, resourceNames }) => ({
    verbs: texts(verbs),
    apiGroups: texts(apiGroups),
    resources: texts(resources),
    resourceNames: texts(resourceNames),
  }));
}

function texts(value: unknown): Set<string> {
  return new Set(Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []);
}

function covers(rule: Rule, { verb, group, resource, name }: Attributes): boolean {
  const { verbs, apiGroups, resources, resourceNames } = rule;
  const subresource = resource.includes('/') ? `*/${resource.split('/')[1] ?? ''}` : resource;
  if (!includesOrAll(verbs, verb) || !includesOrAll(apiGroups, group)) return false;
  if (!includesOrAll(resources, resource) && !resources.has(subresource)) return false;
  return resourceNames.size === 0 || resourceNames.has(name);
}

function includesOrAll(values: Set<string>, value: string): boolean {
  return values.has('*') || values.has(value);
}
