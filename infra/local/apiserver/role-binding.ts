import { forbidden } from './api-error.ts';
import type { Authorization } from './authorization.ts';
import { isJson, textIn, type Json } from './json.ts';
import type { Resource } from './resource.ts';
import type { User } from './user.ts';

const rbac = 'rbac.authorization.k8s.io';

/** Checks an object that a user creates or changes. @throws ApiError 403 */
export type WriteCheck = (user: User, resource: Resource, namespace: string | undefined, object: unknown) => void;

/**
 * A user may write a binding only with the right to `bind` its role, so that nobody gives away rights that they were not
 * trusted with. Unlike Kubernetes, having all rights of the role is not enough.
 * https://kubernetes.io/docs/reference/access-authn-authz/rbac/#restrictions-on-role-binding-creation-or-update
 */
export function createWriteCheck(isAllowed: Authorization): WriteCheck {
  return (user, { group, plural }, namespace, object) => {
    if (group !== rbac || (plural !== 'rolebindings' && plural !== 'clusterrolebindings')) return;
    const ref: Json = isJson(object) && isJson(object['roleRef']) ? object['roleRef'] : {};
    const name = textIn(ref['name']);
    const roles = ref['kind'] === 'Role' ? 'roles' : 'clusterroles';
    const scope = roles === 'roles' ? namespace : undefined;
    if (isAllowed(user, { verb: 'bind', group: rbac, resource: roles, namespace: scope, name })) return;
    const about = { group: rbac, plural: roles, kind: '' };
    throw forbidden(about, name, `User "${user.name}" cannot bind resource "${roles}" in API group "${rbac}"`);
  };
}
