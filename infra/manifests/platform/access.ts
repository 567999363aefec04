import type {
  RbacV1Subject,
  V1ClusterRole,
  V1ClusterRoleBinding,
  V1PolicyRule,
  V1Role,
  V1RoleBinding,
  V1RoleRef,
  V1ServiceAccount,
} from '@kubernetes/client-node';
import type { BuiltIn } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { apiGroup, buildNamespace, systemNamespace } from '../../../runtime/domain/labels.ts';
import { registrySecrets } from '../build.ts';
import { systemObject, type Manifest } from './object.ts';
import type { ProcessName } from './processes.ts';

/** https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources */
export interface PolicyRule extends V1PolicyRule {
  apiGroups: string[];
  resources: string[];
}

const read = ['get', 'list'];
const watch = [...read, 'watch'];
const write = ['create', 'update', 'delete'];
/** A child of a resource; the client replaces objects as a whole. */
const child = [...watch, ...write];

function rule(
  kind: ResourceKind,
  verbs: readonly string[],
  subresource?: 'status' | 'scale' | 'finalizers' | 'log' | 'exec',
): PolicyRule {
  const group = kind.apiVersion.includes('/') ? (kind.apiVersion.split('/')[0] ?? '') : '';
  const resource = subresource ? `${kind.plural}/${subresource}` : kind.plural;
  return { apiGroups: [group], resources: [resource], verbs: [...verbs] };
}

type EnvironmentProcess = keyof typeof environmentRules;

/** The processes with rights in environments. */
const environmentProcesses: readonly EnvironmentProcess[] = [
  'console-api',
  'svc-workers',
  'svc-controllers',
  'svc-interceptor',
];

function environmentRole(name: EnvironmentProcess): string {
  return `${apiGroup}:${name}:environment`;
}

/**
 * Needed for owner references that block the owner's deletion, on clusters that check them (OpenShift).
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
 * The rights of each process in the whole cluster; `svc-authz` has none. They include no Secrets. What a process watches
 * in all environments with one connection is here, see docs/decisions/0039-rights-per-environment.md.
 */
export const clusterRules: Readonly<Record<ProcessName, readonly PolicyRule[]>> = {
  'console-api': [
    rule(kinds.Project, [...watch, ...write, 'patch']),
    rule(kinds.App, [...watch, ...write, 'patch']),
    rule(kinds.Function, [...watch, ...write, 'patch']),
    rule(kinds.Job, [...watch, ...write, 'patch']),
    rule(kinds.Volume, [...watch, ...write]),
    rule(kinds.ServiceResource, [...watch, ...write, 'patch']),
    ...ownReferences,
    // To show which workload holds a name.
    rule(kinds.WorkloadName, [...read, 'create', 'delete']),
    rule(kinds.HostName, [...read, 'create', 'delete']),
    rule(kinds.PlatformConfig, [...watch, 'update']),
    rule(kinds.Namespace, ['get']),
    rule(kinds.StorageClass, read),
    // To refuse hosts that other routes of the cluster serve.
    rule(kinds.IngressRoute, ['list']),
    rule(kinds.Ingress, ['list']),
    // To verify the pod that requests events.
    rule(kinds.TokenReview, ['create']),
  ],
  'svc-workers': [
    // To name the project of an image that is deleted.
    rule(kinds.Project, ['get']),
    rule(kinds.App, [...watch, 'update']),
    rule(kinds.App, ['update'], 'finalizers'),
    // The status of bindings; their Secrets are owned by the workload.
    rule(kinds.App, ['update'], 'status'),
    // `list`: to find what runs an image before it is deleted.
    rule(kinds.Function, [...read, 'update']),
    rule(kinds.Function, ['update'], 'status'),
    rule(kinds.Function, ['update'], 'finalizers'),
    rule(kinds.Job, [...read, 'update']),
    rule(kinds.Job, ['update'], 'status'),
    rule(kinds.Job, ['update'], 'finalizers'),
    rule(kinds.ServiceResource, ['get']),
    rule(kinds.PlatformConfig, ['get']),
  ],
  'svc-controllers': [
    ...[kinds.Project, kinds.App, kinds.Function, kinds.Job, kinds.Volume, kinds.Build, kinds.ServiceResource].flatMap(
      (kind) => [rule(kind, [...watch, 'update']), rule(kind, ['update'], 'status')],
    ),
    rule(kinds.App, ['patch']),
    rule(kinds.Function, ['patch']),
    rule(kinds.Job, ['patch']),
    rule(kinds.Project, ['update'], 'finalizers'),
    // Workloads have to leave external services before their environment is deleted.
    rule(kinds.App, ['delete']),
    rule(kinds.Function, ['delete']),
    rule(kinds.Job, ['delete']),
    ...ownReferences,
    rule(kinds.PlatformConfig, watch),
    rule(kinds.PlatformConfig, ['update'], 'status'),
    rule(kinds.WorkloadName, [...watch, 'create', 'delete']),
    // To complete a claim that was created before its workload.
    rule(kinds.HostName, [...watch, 'create', 'patch', 'delete']),
    rule(kinds.Namespace, child),
    rule(kinds.NetworkPolicy, child),
    rule(kinds.ResourceQuota, child),
    rule(kinds.LimitRange, child),
    rule(kinds.EndpointSlice, watch),
    rule(kinds.Deployment, child),
    rule(kinds.Deployment, ['update'], 'scale'),
    rule(kinds.StatefulSet, child),
    rule(kinds.PodDisruptionBudget, child),
    rule(kinds.ReplicaSet, read),
    rule(kinds.CronJob, child),
    rule(kinds.BatchJob, [...child, 'patch']),
    rule(kinds.PersistentVolumeClaim, child),
    rule(kinds.StorageClass, watch),
    rule(kinds.Pod, watch),
    // To tell which nodes are not ready.
    rule(kinds.Node, ['list']),
    // CPU and memory of workloads (decision 0063).
    rule(kinds.PodMetrics, ['list']),
    rule(kinds.Service, child),
    rule(kinds.ConfigMap, child),
    rule(kinds.RoleBinding, child),
    // To give the processes their rights in a new environment, and no others.
    { ...rule(kinds.ClusterRole, ['bind']), resourceNames: environmentProcesses.map(environmentRole) },
    rule(kinds.IngressRoute, child),
    rule(kinds.Ingress, ['list']),
    rule(kinds.Middleware, child),
    rule(kinds.ServersTransport, child),
    rule(kinds.Event, ['get', 'create', 'update']),
  ],
  'svc-authz': [],
  'svc-interceptor': [rule(kinds.Function, ['list', 'watch']), rule(kinds.Pod, ['list', 'watch'])],
};

/**
 * The rights of each process in the namespace of each environment. They exclude `list` and `watch` of Secrets: only one
 * with a known name can be read.
 */
export const environmentRules = {
  'console-api': [
    // Webhook tokens, and the secrets of workloads.
    rule(kinds.Secret, ['get', 'create', 'update']),
    // To check whose storage a workload mounts.
    rule(kinds.PersistentVolumeClaim, ['get']),
    // To show who mounts a volume, and logs.
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
    // A WebSocket begins with a GET, and newer API servers check `create` as well.
    rule(kinds.Pod, ['get', 'create'], 'exec'),
  ],
  'svc-workers': [
    // The environment of each release, and the credentials of bindings.
    rule(kinds.Secret, ['get', 'create', 'update']),
    // The image that a release's pods run, and the last log lines of failing ones.
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
  ],
  // The environments of functions, the passwords of services, and the deletion of what no pod uses.
  'svc-controllers': [
    rule(kinds.Secret, ['get', 'create', 'delete']),
    // To make a generic pod one of a function, and to delete it once the function's own pod is ready (decision 0098).
    rule(kinds.Pod, ['patch', 'delete']),
  ],
  'svc-interceptor': [rule(kinds.Deployment, ['get', 'update'], 'scale')],
} satisfies Partial<Record<ProcessName, readonly PolicyRule[]>>;

/** Further rights of each process in `svc-system`. */
export const systemRules: Readonly<Partial<Record<ProcessName, readonly PolicyRule[]>>> = {
  'svc-controllers': [rule(kinds.Lease, ['get', 'create', 'update'])],
};

/** Further rights of each process in `svc-builds`. */
const buildRules: Readonly<Partial<Record<ProcessName, readonly PolicyRule[]>>> = {
  // The log of a build in progress.
  'console-api': [rule(kinds.Pod, ['get', 'list']), rule(kinds.Pod, ['get'], 'log')],
  'svc-workers': [
    rule(kinds.Build, [...watch, 'create', 'delete']),
    rule(kinds.Pod, ['get', 'list']),
    rule(kinds.Pod, ['get'], 'log'),
    // The registry's credentials for deletions, and no other Secret.
    { ...rule(kinds.Secret, ['get']), resourceNames: [registrySecrets.delete] },
  ],
  // The git credentials of a build.
  'svc-controllers': [rule(kinds.Secret, ['get', 'create', 'update', 'delete'])],
};

/** The ClusterRoles that RoleBindings grant in environments. Applied before {@link environmentAccess}. Pure. */
export function environmentRoles(): Manifest[] {
  return environmentProcesses.map((name) =>
    systemObject<V1ClusterRole>(kinds.ClusterRole, environmentRole(name), { rules: [...environmentRules[name]] }),
  );
}

/** The rights of the processes in one environment. Pure. */
export function environmentAccess(namespace: string): BuiltIn<V1RoleBinding>[] {
  return environmentProcesses.map((name) => ({
    apiVersion: kinds.RoleBinding.apiVersion,
    kind: kinds.RoleBinding.kind,
    metadata: { name: `svc-${name.replace(/^svc-/, '')}`, namespace },
    roleRef: roleRef('ClusterRole', environmentRole(name)),
    subjects: [{ kind: 'ServiceAccount', name, namespace: systemNamespace }],
  }));
}

/** The ServiceAccount of a process and its rights. Pure. */
export function accessManifests(name: ProcessName): Manifest[] {
  const subjects: RbacV1Subject[] = [{ kind: 'ServiceAccount', name, namespace: systemNamespace }];
  const clusterRole = `${apiGroup}:${name}`;
  const cluster = clusterRules[name];
  const system = systemRules[name] ?? [];
  const builds = buildRules[name] ?? [];
  return [
    systemObject<V1ServiceAccount>(kinds.ServiceAccount, name, { automountServiceAccountToken: cluster.length > 0 }),
    ...(cluster.length === 0
      ? []
      : [
          systemObject<V1ClusterRole>(kinds.ClusterRole, clusterRole, { rules: [...cluster] }),
          systemObject<V1ClusterRoleBinding>(kinds.ClusterRoleBinding, clusterRole, {
            roleRef: roleRef('ClusterRole', clusterRole),
            subjects,
          }),
        ]),
    ...(system.length === 0
      ? []
      : [
          systemObject<V1Role>(kinds.Role, name, { rules: [...system] }),
          systemObject<V1RoleBinding>(kinds.RoleBinding, name, { roleRef: roleRef('Role', name), subjects }),
        ]),
    ...(builds.length === 0
      ? []
      : [
          systemObject<V1Role>(kinds.Role, name, { rules: [...builds] }),
          systemObject<V1RoleBinding>(kinds.RoleBinding, name, { roleRef: roleRef('Role', name), subjects }),
        ].map((object) => ({ ...object, metadata: { ...object.metadata, namespace: buildNamespace } }))),
  ];
}

/** The ServiceAccount of a store, which has no rights. Pure. */
export function storeAccount(name: string): Manifest {
  return systemObject<V1ServiceAccount>(kinds.ServiceAccount, name, { automountServiceAccountToken: false });
}

function roleRef(kind: 'ClusterRole' | 'Role', name: string): V1RoleRef {
  return { apiGroup: 'rbac.authorization.k8s.io', kind, name };
}
