import type { Json } from './json.ts';
import type { Objects } from './objects.ts';
import type { Registry } from './registry.ts';
import { storageOf } from './resource.ts';
import type { Store } from './store.ts';

const rbac = 'rbac.authorization.k8s.io';
const everything = [
  { apiGroups: ['*'], resources: ['*'], verbs: ['*'] },
  { nonResourceURLs: ['*'], verbs: ['*'] },
];

/** What every cluster has from its first moment. `port` is where the server listens, for pods that ask for it. */
function firstObjects(address: string, port: number): Json[] {
  const kubernetes = { name: 'kubernetes', namespace: 'default' };
  const cluster = { metadata: { name: 'cluster-admin' } };
  return [
    ...['default', 'kube-system'].map((name) => ({ kind: 'Namespace', metadata: { name } })),
    {
      kind: 'Service',
      metadata: { ...kubernetes, labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: { clusterIP: address, clusterIPs: [address], ports: [{ name: 'https', port, targetPort: port }] },
    },
    {
      ...{ group: 'discovery.k8s.io', kind: 'EndpointSlice' },
      metadata: { ...kubernetes, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    },
    { group: rbac, kind: 'ClusterRole', ...cluster, rules: everything },
    {
      ...{ group: rbac, kind: 'ClusterRoleBinding', ...cluster },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: rbac, kind: 'Group', name: 'system:masters' }],
    },
  ];
}

/** Creates what is missing of a cluster's first objects; the server's address is brought up to date. */
export function bootstrap(options: {
  store: Store;
  objects: Objects;
  registry: Registry;
  address: string;
  port: number;
}): void {
  const { store, objects, registry, address, port } = options;
  for (const { group = '', ...object } of firstObjects(address, port)) {
    const resource = registry.kind(String(object['kind']), String(group));
    const { name, namespace } = object['metadata'] as { name: string; namespace?: string };
    const place = { resource, namespace, name };
    if (!store.get(storageOf(resource), namespace, name)) objects.create(resource, namespace, object);
    else if (namespace) objects.update(place, (live) => ({ ...object, metadata: live.metadata }), 'main');
  }
}

/** Gives every namespace what pods in it find there: an account, and the certificate of the server. */
export function furnishNamespace(
  options: { objects: Objects; registry: Registry; certificate: string },
  namespace: string,
): void {
  const { objects, registry, certificate } = options;
  objects.create(registry.kind('ServiceAccount'), namespace, { metadata: { name: 'default' } });
  const description =
    'Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.';
  objects.create(registry.kind('ConfigMap'), namespace, {
    metadata: { name: 'kube-root-ca.crt', annotations: { 'kubernetes.io/description': description } },
    data: { 'ca.crt': certificate },
  });
}
