import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { apiGroup, buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import { systemObject, type Manifest } from './object.ts';
import type { ProcessName } from './processes.ts';

/** https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources */
export interface PolicyRule {
  apiGroups: string[];
  resources: string[];
  verbs: string[];
  resourceNames?: string[];
}

const watch = ['get', 'list', 'watch'];
const own = [...watch, 'create', 'update', 'patch', 'delete'];
const change = ['get', 'update', 'patch'];

function rule(
  kind: ResourceKind,
  verbs: readonly string[],
  subresource?: 'status' | 'scale' | 'finalizers' | 'log',
): PolicyRule {
  const group = kind.apiVersion.includes('/') ? (kind.apiVersion.split('/')[0] ?? '') : '';
  const resource = subresource ? `${kind.plural}/${subresource}` : kind.plural;
  return { apiGroups: [group], resources: [resource], verbs: [...verbs] };
}

/**
 * An owner reference that blocks its owner's deletion needs this on clusters that check it (OpenShift).
 * https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement
 */
const ownReferences: PolicyRule[] = [
  rule(kinds.App, ['update'], 'finalizers'),
  rule(kinds.Function, ['update'], 'finalizers'),
  rule(kinds.Job, ['update'], 'finalizers'),
  rule(kinds.Volume, ['update'], 'finalizers'),
  rule(kinds.ServiceResource, ['update'], 'finalizers'),
];

/**
 * What each process may do in the whole cluster; `svc-authz` may do nothing.
 *
 * Secrets: console-api keeps an app's webhook token and the secrets of apps and functions in Secrets of their namespace,
 * svc-workers make the environment of each release of an app and keep what bindings of functions enter services with, and
 * svc-controllers make the environments of functions, remove what no pod uses any more and make the passwords of the
 * services that the platform runs. RBAC knows neither
 * prefixes of names nor "every namespace but", so the rights are cluster-wide. They are the smallest such: no `list`
 * and no `watch`, so a name must be known to be read. A RoleBinding per environment, made by the Project controller,
 * would close the rest; it needs `bind` for that controller.
 */
export const clusterRules: Readonly<Record<ProcessName, readonly PolicyRule[]>> = {
  'console-api': [
    rule(kinds.Project, own),
    rule(kinds.App, own),
    rule(kinds.Function, own),
    rule(kinds.Job, own),
    rule(kinds.Volume, own),
    rule(kinds.ServiceResource, own),
    ...ownReferences,
    // Who holds a name.
    rule(kinds.WorkloadName, [...watch, 'create', 'delete']),
    rule(kinds.HostName, [...watch, 'create', 'delete']),
    rule(kinds.PlatformConfig, [...watch, 'update']),
    rule(kinds.Namespace, watch),
    rule(kinds.Secret, ['get', 'create', 'update']),
    rule(kinds.StorageClass, watch),
    // Who mounts a volume, and the logs of a job's runs.
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
    // Which pod asks for events.
    rule(kinds.TokenReview, ['create']),
  ],
  'svc-workers': [
    rule(kinds.App, [...watch, 'update']),
    rule(kinds.App, ['update'], 'finalizers'),
    // How far a binding is; what is made for one belongs to its function.
    rule(kinds.Function, ['get', 'update']),
    rule(kinds.Function, change, 'status'),
    rule(kinds.Function, ['update'], 'finalizers'),
    rule(kinds.ServiceResource, ['get']),
    rule(kinds.PlatformConfig, watch),
    rule(kinds.Secret, ['get', 'create', 'update']),
    // What image the pods of a release run, and what failing ones said last.
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
  ],
  'svc-controllers': [
    ...[
      ...[kinds.Project, kinds.App, kinds.Function, kinds.Job, kinds.Volume],
      ...[kinds.Build, kinds.ServiceResource],
    ].flatMap((kind) => [rule(kind, [...watch, 'update', 'patch']), rule(kind, change, 'status')]),
    rule(kinds.Project, ['update'], 'finalizers'),
    // They leave external services before their environment goes.
    rule(kinds.Function, ['delete']),
    ...ownReferences,
    rule(kinds.PlatformConfig, watch),
    rule(kinds.PlatformConfig, change, 'status'),
    rule(kinds.WorkloadName, [...watch, 'create', 'delete']),
    // A claim that was made ahead of its spec becomes an ordinary one.
    rule(kinds.HostName, [...watch, 'create', 'patch', 'delete']),
    rule(kinds.Namespace, own),
    rule(kinds.NetworkPolicy, own),
    rule(kinds.ResourceQuota, own),
    rule(kinds.LimitRange, own),
    rule(kinds.EndpointSlice, watch),
    rule(kinds.Deployment, own),
    rule(kinds.Deployment, change, 'scale'),
    rule(kinds.StatefulSet, own),
    rule(kinds.ReplicaSet, watch),
    rule(kinds.CronJob, own),
    rule(kinds.BatchJob, own),
    rule(kinds.PersistentVolumeClaim, own),
    rule(kinds.StorageClass, watch),
    rule(kinds.Pod, watch),
    rule(kinds.Service, own),
    rule(kinds.ConfigMap, own),
    rule(kinds.Secret, ['get', 'create', 'delete']),
    rule(kinds.IngressRoute, own),
    rule(kinds.Middleware, own),
    rule(kinds.Event, ['get', 'list', 'create', 'update', 'patch']),
  ],
  'svc-authz': [],
  'svc-interceptor': [
    rule(kinds.Function, watch),
    rule(kinds.PlatformConfig, watch),
    rule(kinds.Pod, watch),
    rule(kinds.Deployment, ['get']),
    rule(kinds.Deployment, change, 'scale'),
  ],
};

/** What each process may do in `svc-system` only. */
export const systemRules: Readonly<Partial<Record<ProcessName, readonly PolicyRule[]>>> = {
  'svc-controllers': [rule(kinds.Lease, [...watch, 'create', 'update', 'patch'])],
};

/** What each process may do in `svc-builds` only. */
export const buildRules: Readonly<Partial<Record<ProcessName, readonly PolicyRule[]>>> = {
  'svc-workers': [
    rule(kinds.Build, [...watch, 'create', 'delete']),
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
  ],
  // The credentials of a build's first step.
  'svc-controllers': [rule(kinds.Secret, ['create', 'update'])],
};

/** The ServiceAccount of a process and its rights. Pure. */
export function accessManifests(name: ProcessName): Manifest[] {
  const subjects = [{ kind: 'ServiceAccount', name, namespace: systemNamespace }];
  const clusterRole = `${apiGroup}:${name}`;
  const cluster = clusterRules[name];
  const system = systemRules[name] ?? [];
  const builds = buildRules[name] ?? [];
  return [
    systemObject(kinds.ServiceAccount, name, { automountServiceAccountToken: cluster.length > 0 }),
    ...(cluster.length === 0
      ? []
      : [
          systemObject(kinds.ClusterRole, clusterRole, { rules: cluster }),
          systemObject(kinds.ClusterRoleBinding, clusterRole, {
            roleRef: roleRef('ClusterRole', clusterRole),
            subjects,
          }),
        ]),
    ...(system.length === 0
      ? []
      : [
          systemObject(kinds.Role, name, { rules: system }),
          systemObject(kinds.RoleBinding, name, { roleRef: roleRef('Role', name), subjects }),
        ]),
    ...(builds.length === 0
      ? []
      : [
          systemObject(kinds.Role, name, { rules: builds }),
          systemObject(kinds.RoleBinding, name, { roleRef: roleRef('Role', name), subjects }),
        ].map((object) => ({ ...object, metadata: { ...object.metadata, namespace: buildNamespace } }))),
  ];
}

/** The ServiceAccount of a store, which has no rights at all. Pure. */
export function storeAccount(name: string): Manifest {
  return systemObject(kinds.ServiceAccount, name, { automountServiceAccountToken: false });
}

function roleRef(kind: 'ClusterRole' | 'Role', name: string): object {
  return { apiGroup: 'rbac.authorization.k8s.io', kind, name };
}
