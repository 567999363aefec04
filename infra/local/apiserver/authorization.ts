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

/** Decides whether a user may do something. */
export type Authorization = (user: User, attributes: Attributes) => boolean;

/** What a binding lets its subjects do, and in which namespace; undefined: in all of them, and outside. */
interface Grant {
  namespace: string | undefined;
  rules: Rule[];
}

/** A rule of a role; each set has the texts of the field of that name. */
interface Rule {
  verbs: Set<string>;
  apiGroups: Set<string>;
  resources: Set<string>;
  resourceNames: Set<string>;
}

/** Users whose grants are remembered; pods come and go, and each has its own service account at most. */
const maxRemembered = 1000;

/**
 * Authorization by the roles that are bound to a user. What they grant is gathered once, and again when a role or binding
 * has changed: every request asks. https://kubernetes.io/docs/reference/access-authn-authz/rbac/
 */
export function createAuthorization(store: Store): Authorization {
  const remembered = new Map<string, Grant[]>();
  for (const plural of ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings']) {
    store.subscribe(`${rbac}/${plural}`, () => remembered.clear());
  }

  const grantsOf = (user: User): Grant[] => {
    const key = JSON.stringify([user.name, user.groups]);
    const known = remembered.get(key);
    if (known) return known;
    const bindings = [...store.list(`${rbac}/clusterrolebindings`), ...store.list(`${rbac}/rolebindings`)];
    const grants = bindings
      .filter((binding) => objects(binding['subjects']).some((subject) => isSubject(subject, user)))
      .map((binding) => ({ namespace: binding.metadata.namespace, rules: rulesOf(store, binding) }));
    if (remembered.size >= maxRemembered) remembered.clear();
    remembered.set(key, grants);
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
  if (!hasOrAll(verbs, verb) || !hasOrAll(apiGroups, group)) return false;
  if (!hasOrAll(resources, resource) && !resources.has(subresource)) return false;
  return resourceNames.size === 0 || resourceNames.has(name);
}

function hasOrAll(values: Set<string>, wanted: string): boolean {
  return values.has('*') || values.has(wanted);
}
