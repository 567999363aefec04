import type { WorkloadKind } from '../../domain/names.ts';

/** The address of a kind in the Kubernetes API. */
export interface ResourceKind {
  apiVersion: string;
  kind: string;
  plural: string;
  namespaced: boolean;
}

const platform = (kind: string, plural: string, namespaced: boolean): ResourceKind => ({
  apiVersion: 'platform.svc/v1',
  kind,
  plural,
  namespaced,
});
const builtin = (apiVersion: string, kind: string, plural: string, namespaced = true): ResourceKind => ({
  apiVersion,
  kind,
  plural,
  namespaced,
});

/** All kinds that the platform reads or writes. */
export const kinds = {
  Project: platform('Project', 'projects', false),
  PlatformConfig: platform('PlatformConfig', 'platformconfigs', false),
  HostName: platform('HostName', 'hostnames', false),
  App: platform('App', 'apps', true),
  Function: platform('Function', 'functions', true),
  Job: platform('Job', 'jobs', true),
  Volume: platform('Volume', 'volumes', true),
  Build: platform('Build', 'builds', true),
  ServiceResource: platform('Service', 'services', true),
  WorkloadName: platform('WorkloadName', 'workloadnames', true),
  Namespace: builtin('v1', 'Namespace', 'namespaces', false),
  Node: builtin('v1', 'Node', 'nodes', false),
  Pod: builtin('v1', 'Pod', 'pods'),
  Service: builtin('v1', 'Service', 'services'),
  Secret: builtin('v1', 'Secret', 'secrets'),
  ConfigMap: builtin('v1', 'ConfigMap', 'configmaps'),
  ServiceAccount: builtin('v1', 'ServiceAccount', 'serviceaccounts'),
  Event: builtin('v1', 'Event', 'events'),
  PersistentVolumeClaim: builtin('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims'),
  Deployment: builtin('apps/v1', 'Deployment', 'deployments'),
  StatefulSet: builtin('apps/v1', 'StatefulSet', 'statefulsets'),
  DaemonSet: builtin('apps/v1', 'DaemonSet', 'daemonsets'),
  ReplicaSet: builtin('apps/v1', 'ReplicaSet', 'replicasets'),
  BatchJob: builtin('batch/v1', 'Job', 'jobs'),
  CronJob: builtin('batch/v1', 'CronJob', 'cronjobs'),
  StorageClass: builtin('storage.k8s.io/v1', 'StorageClass', 'storageclasses', false),
  Lease: builtin('coordination.k8s.io/v1', 'Lease', 'leases'),
  EndpointSlice: builtin('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices'),
  NetworkPolicy: builtin('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies'),
  ResourceQuota: builtin('v1', 'ResourceQuota', 'resourcequotas'),
  LimitRange: builtin('v1', 'LimitRange', 'limitranges'),
  PodDisruptionBudget: builtin('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets'),
  Role: builtin('rbac.authorization.k8s.io/v1', 'Role', 'roles'),
  RoleBinding: builtin('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rolebindings'),
  ClusterRole: builtin('rbac.authorization.k8s.io/v1', 'ClusterRole', 'clusterroles', false),
  ClusterRoleBinding: builtin('rbac.authorization.k8s.io/v1', 'ClusterRoleBinding', 'clusterrolebindings', false),
  CustomResourceDefinition: builtin(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'customresourcedefinitions',
    false,
  ),
  TokenReview: builtin('authentication.k8s.io/v1', 'TokenReview', 'tokenreviews', false),
  IngressRoute: builtin('traefik.io/v1alpha1', 'IngressRoute', 'ingressroutes'),
  Ingress: builtin('networking.k8s.io/v1', 'Ingress', 'ingresses'),
  Middleware: builtin('traefik.io/v1alpha1', 'Middleware', 'middlewares'),
  ServersTransport: builtin('traefik.io/v1alpha1', 'ServersTransport', 'serverstransports'),
  PodMetrics: builtin('metrics.k8s.io/v1beta1', 'PodMetrics', 'pods'),
  PodMonitor: builtin('monitoring.coreos.com/v1', 'PodMonitor', 'podmonitors'),
} as const satisfies Record<string, ResourceKind>;

/** The resource of each workload kind. */
export const workloadResources = {
  App: kinds.App,
  Function: kinds.Function,
  Job: kinds.Job,
  Service: kinds.ServiceResource,
} as const satisfies Record<WorkloadKind, ResourceKind>;
