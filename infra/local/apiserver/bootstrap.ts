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

/** The objects that every cluster has from the start. `port` is the port of the API server, for pods. */
function bootstrapObjects(address: string, port: number): Json[] {
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
      group: 'discovery.k8s.io',
      kind: 'EndpointSlice',
      metadata: { ...kubernetes, labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: [address], conditions: { ready: true } }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    },
    { group: rbac, kind: 'ClusterRole', ...cluster, rules: everything },
    {
      group: rbac,
      kind: 'ClusterRoleBinding',
      ...cluster,
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: rbac, kind: 'Group', name: 'system:masters' }],
    },
  ];
}

/** Creates missing bootstrap objects and updates the server's address. */
export function bootstrap(options: {
  store: Store;
  objects: Objects;
  registry: Registry;
  address: string;
  port: number;
}): void {
  const { store, objects, registry, address, port } = options;
  for (const { group = '', ...object } of bootstrapObjects(address, port)) {
    const resource = registry.kind(String(object['kind']), String(group));
    const { name, namespace } = object['metadata'] as { name: string; namespace?: string };
    const place = { resource, namespace, name };
    if (!store.get(storageOf(resource), namespace, name)) objects.create(resource, namespace, object);
    else if (namespace) objects.update(place, (live) => ({ ...object, metadata: live.metadata }), 'main');
  }
}

/** Creates what pods expect in every namespace: the default service account and the server's certificate. */
export function createNamespaceDefaults(
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
