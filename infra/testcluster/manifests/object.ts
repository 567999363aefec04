/** A Kubernetes object. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [field: string]: unknown };
  readonly [field: string]: unknown;
}

/** A service account with its own cluster role. */
export function serviceAccountWithRole(name: string, namespace: string, rules: readonly object[]): KubernetesObject[] {
  const role = `testcluster:${name}`;
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: role }, rules },
    clusterRoleBinding(role, role, { kind: 'ServiceAccount', name, namespace }),
  ];
}

/** Binds a cluster role to one subject. */
export function clusterRoleBinding(name: string, role: string, subject: object): KubernetesObject {
  return {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [subject],
  };
}
