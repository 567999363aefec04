import { checkDefinition, establishedStatus } from '../custom-resource.ts';
import { modelSchema } from '../model-schema.ts';
import type { Resource } from '../resource.ts';
import * as check from './checks.ts';
import { columnsOf } from './columns.ts';
import * as defaults from './defaults.ts';

const rbac = 'rbac.authorization.k8s.io/v1';
const workload = { categories: ['all'], generation: true, status: true, scale: true };

/** Defines a built-in kind: by default namespaced, without generation and subresources. */
function define(
  apiVersion: string,
  kind: string,
  plural: string,
  shortNames: readonly string[],
  options: Partial<Resource> = {},
): Resource {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return {
    group,
    version,
    kind,
    plural,
    shortNames,
    singular: kind.toLowerCase(),
    categories: [],
    namespaced: true,
    generation: false,
    status: false,
    scale: false,
    unconditionalUpdate: true,
    names: 'subdomain',
    schema: modelSchema(kind === 'Event' ? 'CoreV1Event' : `V1${kind}`),
    columns: columnsOf(kind),
    custom: false,
    ...options,
  };
}

/** All built-in kinds that the server serves. */
export const builtinResources: readonly Resource[] = [
  define('v1', 'Namespace', 'namespaces', ['ns'], {
    namespaced: false,
    names: 'label',
    status: true,
    default: ({ metadata }) => {
      metadata.labels = { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name };
    },
    prepareCreate: (object) => {
      object.spec = { finalizers: ['kubernetes'] };
      object.status = { phase: 'Active' };
    },
    fields: ['status.phase'],
  }),
  define('v1', 'Pod', 'pods', ['po'], {
    categories: ['all'],
    generation: true,
    status: true,
    default: defaults.defaultPod,
    prepareCreate: (object) => {
      object.status = { phase: 'Pending' };
    },
    validate: check.checkPod,
    fields: ['spec.nodeName', 'spec.restartPolicy', 'spec.serviceAccountName', 'status.phase', 'status.podIP'],
  }),
  define('v1', 'Service', 'services', ['svc'], {
    categories: ['all'],
    names: 'label',
    status: true,
    default: defaults.defaultService,
    prepareUpdate: defaults.keepAddress,
  }),
  define('v1', 'Secret', 'secrets', [], {
    default: defaults.defaultSecret,
    immutable: ['type'],
    validate: check.checkData,
    fields: ['type'],
  }),
  define('v1', 'ConfigMap', 'configmaps', ['cm'], { validate: check.checkData }),
  define('v1', 'ServiceAccount', 'serviceaccounts', ['sa']),
  define('v1', 'Event', 'events', ['ev'], {
    fields: [
      ...['kind', 'namespace', 'name', 'uid', 'fieldPath'].map((name) => `involvedObject.${name}`),
      'reason',
      'type',
    ],
  }),
  define('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', ['pvc'], {
    status: true,
    immutable: ['spec.accessModes', 'spec.storageClassName', 'spec.volumeMode'],
  }),
  define('v1', 'ResourceQuota', 'resourcequotas', ['quota'], { status: true }),
  define('v1', 'LimitRange', 'limitranges', ['limits']),

  define('apps/v1', 'Deployment', 'deployments', ['deploy'], {
    ...workload,
    default: defaults.defaultDeployment,
    immutable: ['spec.selector'],
    validate: check.checkWorkload,
  }),
  define('apps/v1', 'ReplicaSet', 'replicasets', ['rs'], {
    ...workload,
    default: defaults.defaultImages('spec.template.spec'),
    immutable: ['spec.selector'],
    validate: check.checkWorkload,
  }),
  define('apps/v1', 'StatefulSet', 'statefulsets', ['sts'], {
    ...workload,
    default: defaults.defaultImages('spec.template.spec'),
    immutable: ['spec.selector', 'spec.serviceName', 'spec.volumeClaimTemplates'],
    validate: check.checkWorkload,
  }),
  define('batch/v1', 'Job', 'jobs', [], {
    ...workload,
    scale: false,
    default: defaults.defaultJob,
    prepareCreate: defaults.selectOwnPods,
    immutable: ['spec.selector', 'spec.completions', 'spec.completionMode', 'spec.template'],
    validate: check.checkJob,
  }),
  define('batch/v1', 'CronJob', 'cronjobs', ['cj'], {
    ...workload,
    scale: false,
    default: defaults.defaultImages('spec.jobTemplate.spec.template.spec'),
    validate: check.checkCronJob,
  }),

  define('storage.k8s.io/v1', 'StorageClass', 'storageclasses', ['sc'], {
    namespaced: false,
    immutable: ['provisioner', 'reclaimPolicy', 'volumeBindingMode', 'parameters'],
  }),
  define('coordination.k8s.io/v1', 'Lease', 'leases', [], { unconditionalUpdate: false }),
  define('discovery.k8s.io/v1', 'EndpointSlice', 'endpointslices', [], { generation: true }),
  define('networking.k8s.io/v1', 'NetworkPolicy', 'networkpolicies', ['netpol'], {
    generation: true,
    default: defaults.defaultNetworkPolicy,
  }),
  define('policy/v1', 'PodDisruptionBudget', 'poddisruptionbudgets', ['pdb'], { generation: true, status: true }),
  define(rbac, 'Role', 'roles', [], { names: 'segment' }),
  define(rbac, 'ClusterRole', 'clusterroles', [], { names: 'segment', namespaced: false }),
  ...(['RoleBinding', 'ClusterRoleBinding'] as const).map((kind) =>
    define(rbac, kind, `${kind.toLowerCase()}s`, [], {
      names: 'segment',
      namespaced: kind === 'RoleBinding',
      default: defaults.defaultBinding,
      immutable: ['roleRef'],
    }),
  ),
  define('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'customresourcedefinitions', ['crd', 'crds'], {
    namespaced: false,
    generation: true,
    status: true,
    unconditionalUpdate: false,
    default: defaults.defaultDefinition,
    prepareCreate: (object, now) => {
      object.status = establishedStatus(object, now);
    },
    immutable: ['spec.group', 'spec.scope'],
    validate: checkDefinition,
  }),
];
