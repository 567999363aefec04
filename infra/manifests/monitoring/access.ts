import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1Namespace,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1Service,
} from '@kubernetes/client-node';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { apiGroup, managedLabels, systemNamespace } from '../../../runtime/domain/labels.ts';
import {
  componentNames,
  monitoringNamespace,
  shipperNamespace,
  type ComponentName,
} from '../../../runtime/domain/monitoring.ts';
import { componentLabels, systemObject, type Manifest } from '../platform/object.ts';
import { componentAccount } from './objects.ts';

const namespaces = [monitoringNamespace, shipperNamespace] as const;

/** The node exporter and the shipper run on each node; for the other kinds, svc-controllers has rights in the whole cluster. */
export const componentRules: V1PolicyRule[] = [
  { apiGroups: ['apps'], resources: ['daemonsets'], verbs: ['get', 'create', 'update', 'delete'] },
];

/**
 * What the components need before svc-controllers creates them: their namespaces, accounts and rights. Only
 * `svc install` applies these, so that the controllers can give no right that they do not have. Pure.
 */
export function monitoringAccess(): Manifest[] {
  const controllers: RbacV1Subject = { kind: 'ServiceAccount', name: 'svc-controllers', namespace: systemNamespace };
  return [
    namespaceManifest(monitoringNamespace, 'restricted'),
    // The shipper reads the logs of all pods in a folder of the node.
    namespaceManifest(shipperNamespace, 'privileged'),
    ...componentNames.map((name) => componentAccount({ name, namespace: namespaceOf(name) })),
    controllersService(),
    ...namespaces.flatMap((namespace) => grant('svc-controllers', namespace, componentRules, controllers)),
    ...shipperAccess(),
  ];
}

/** The labels of pods say whose logs they are. The pods of all namespaces are on the shipper's node. */
const shipperRules: V1PolicyRule[] = [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }];

function shipperAccess(): Manifest[] {
  const name = `${apiGroup}:log-shipper`;
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name };
  const subjects: RbacV1Subject[] = [{ kind: 'ServiceAccount', name: 'log-shipper', namespace: shipperNamespace }];
  return [
    systemObject<V1ClusterRole>(kinds.ClusterRole, name, { rules: shipperRules }),
    systemObject<V1ClusterRoleBinding>(kinds.ClusterRoleBinding, name, { roleRef, subjects }),
  ];
}

/** Leads to the list of targets for the metrics store. */
function controllersService(): Manifest {
  const labels = componentLabels('svc-controllers');
  const ports = [{ name: 'admin', port: 8081, targetPort: 'admin', protocol: 'TCP' }];
  return systemObject<V1Service>(kinds.Service, 'svc-controllers', { spec: { selector: labels, ports } }, labels);
}

function namespaceOf(name: ComponentName): (typeof namespaces)[number] {
  return name === 'log-shipper' ? shipperNamespace : monitoringNamespace;
}

function namespaceManifest(name: string, level: 'restricted' | 'privileged'): Manifest {
  const labels = { ...managedLabels(), 'pod-security.kubernetes.io/enforce': level };
  return object<V1Namespace>(kinds.Namespace, { name, labels }, {});
}

/** A Role and its RoleBinding. */
function grant(name: string, namespace: string, rules: readonly V1PolicyRule[], subject: RbacV1Subject): Manifest[] {
  const metadata = { name, namespace, labels: managedLabels() };
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name };
  return [
    object<V1Role>(kinds.Role, metadata, { rules: [...rules] }),
    object<V1RoleBinding>(kinds.RoleBinding, metadata, { roleRef, subjects: [subject] }),
  ];
}

function object<T extends object = never>(
  { apiVersion, kind }: (typeof kinds)[keyof typeof kinds],
  metadata: Manifest['metadata'],
  fields: Omit<NoInfer<T>, 'apiVersion' | 'kind' | 'metadata'>,
): Manifest {
  return { apiVersion, kind, metadata, ...fields };
}
