import type { Cause } from '../api-error.ts';
import { labelTest } from '../selector.ts';
import { isJson, valueAt, type Json, textIn } from '../json.ts';
import type { ApiObject, Strategy } from '../resource.ts';
import { define } from './define.ts';
import { defaultTemplate, fill, objects, section } from './pod-defaults.ts';
import { checkPodSpec, required } from './pod-checks.ts';
import { columnsOf } from './columns.ts';

const specOf = (object: ApiObject): Json => section(object, 'spec');

/** A selector that does not select the pods of its own template would make pods for ever. */
export function checkSelector(object: ApiObject): Cause[] {
  const labels = valueAt(object, 'spec.template.metadata.labels');
  const wanted = valueAt(object, 'spec.selector.matchLabels');
  const terms = Object.entries(isJson(wanted) ? wanted : {}).map(([key, value]) => `${key}=${String(value)}`);
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: '', labels: isJson(labels) ? labels : {} } };
  if (terms.length > 0 && labelTest(terms.join(','))(pod as ApiObject)) return [];
  return [
    ...(terms.length > 0 ? [] : [required('spec.selector')]),
    {
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(labels ?? null)}: \`selector\` does not match template \`labels\``,
      field: 'spec.template.metadata.labels',
    },
  ];
}

const checkWorkload: NonNullable<Strategy['validate']> = (object) => [
  ...checkSelector(object),
  ...checkPodSpec(valueAt(object, 'spec.template.spec'), 'spec.template.spec', ['Always'], claimsOf(object)),
];

/** Claims that a StatefulSet makes for each pod: they become volumes of these names. */
function claimsOf(object: ApiObject): unknown[] {
  return objects(valueAt(object, 'spec.volumeClaimTemplates')).map((claim) => valueAt(claim, 'metadata.name'));
}

function defaultDeployment(object: ApiObject): void {
  const spec = specOf(object);
  fill(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  const strategy = section(spec, 'strategy');
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy['type'] === 'RollingUpdate') {
    fill(section(strategy, 'rollingUpdate'), { maxUnavailable: '25%', maxSurge: '25%' });
  }
  defaultTemplate(spec);
  const status = section(object, 'status');
  // As Go writes it: none is nothing.
  for (const name of Object.keys(status)) if (status[name] === 0) delete status[name];
}

function defaultStatefulSet(object: ApiObject): void {
  const spec = specOf(object);
  fill(spec, { podManagementPolicy: 'OrderedReady', replicas: 1, revisionHistoryLimit: 10, serviceName: '' });
  const strategy = section(spec, 'updateStrategy');
  fill(strategy, { type: 'RollingUpdate' });
  if (strategy['type'] === 'RollingUpdate') fill(section(strategy, 'rollingUpdate'), { partition: 0 });
  fill(section(spec, 'persistentVolumeClaimRetentionPolicy'), { whenDeleted: 'Retain', whenScaled: 'Retain' });
  defaultTemplate(spec);
  for (const claim of objects(spec['volumeClaimTemplates'])) {
    fill(claim, { apiVersion: 'v1', kind: 'PersistentVolumeClaim', status: { phase: 'Pending' } });
    fill(section(claim, 'spec'), { volumeMode: 'Filesystem' });
  }
  fill(section(object, 'status'), { availableReplicas: 0, replicas: 0 });
}

function defaultReplicaSet(object: ApiObject): void {
  const spec = specOf(object);
  fill(spec, { replicas: 1 });
  defaultTemplate(spec);
  fill(section(object, 'status'), { replicas: 0 });
}

const workload = { all: true, generation: true, status: true, scale: true } as const;

/** The group `apps`. */
export const apps = [
  define('apps/v1', 'Deployment', 'deployments', {
    ...workload,
    shortNames: ['deploy'],
    strategy: { default: defaultDeployment, immutable: ['spec.selector'], validate: checkWorkload },
    columns: columnsOf('Deployment'),
  }),
  define('apps/v1', 'ReplicaSet', 'replicasets', {
    ...workload,
    shortNames: ['rs'],
    strategy: {
      default: defaultReplicaSet,
      immutable: ['spec.selector'],
      validate: checkWorkload,
      fields: (object) => ({ 'status.replicas': textIn(valueAt(object, 'status.replicas') ?? 0) }),
    },
    columns: columnsOf('ReplicaSet'),
  }),
  define('apps/v1', 'StatefulSet', 'statefulsets', {
    ...workload,
    shortNames: ['sts'],
    strategy: {
      default: defaultStatefulSet,
      immutable: ['spec.selector', 'spec.serviceName', 'spec.volumeClaimTemplates', 'spec.podManagementPolicy'],
      validate: checkWorkload,
    },
    columns: columnsOf('StatefulSet'),
  }),
];
