import { isDeepStrictEqual } from 'node:util';
import type { Cause } from '../api-error.ts';
import { isJson, valueAt, type Json, textIn } from '../json.ts';
import type { ApiObject, Strategy } from '../resource.ts';
import { columnsOf } from './columns.ts';
import { define } from './define.ts';
import { checkPodSpec } from './pod-checks.ts';
import { defaultPodSpec, fill, objects, section } from './pod-defaults.ts';

const text = (object: ApiObject, path: string) => textIn(valueAt(object, path));

function defaultPod(object: ApiObject): void {
  const spec = section(object, 'spec');
  defaultPodSpec(spec);
  fill(spec, { enableServiceLinks: true });
  for (const container of [...objects(spec['initContainers']), ...objects(spec['containers'])]) {
    const { limits } = section(container, 'resources');
    if (isJson(limits)) fill(section(section(container, 'resources'), 'requests'), limits);
  }
}

/** What the node writes when it binds a pod, and with it ports of its own (docs/decisions/0009-pods-as-processes.md). */
const isBound = ({ metadata }: ApiObject) => metadata.annotations?.['platform.svc/container-ports'];

/** In a pod that exists only images, tolerations and the deadline may change. */
function checkPodUpdate(object: ApiObject, old: ApiObject | undefined): Cause[] {
  if (!old || isBound(object) !== isBound(old)) return [];
  const fixed = (pod: ApiObject): unknown => {
    const spec = structuredClone(pod.spec) as Json;
    for (const name of ['activeDeadlineSeconds', 'tolerations', 'terminationGracePeriodSeconds', 'nodeName']) {
      delete spec[name];
    }
    for (const container of [...objects(spec['initContainers']), ...objects(spec['containers'])]) {
      delete container['image'];
    }
    return spec;
  };
  if (isDeepStrictEqual(fixed(object), fixed(old))) return [];
  const message =
    'Forbidden: pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';
  return [{ reason: 'FieldValueForbidden', message, field: 'spec' }];
}

const pod: Strategy = {
  default: defaultPod,
  prepareCreate: (object) => {
    object.status = { phase: 'Pending', qosClass: qosClass(object) };
  },
  validate: (object, old) => [
    ...checkPodSpec(object.spec, 'spec', ['Always', 'OnFailure', 'Never']),
    ...checkPodUpdate(object, old),
  ],
  fields: (object) => ({
    'spec.nodeName': text(object, 'spec.nodeName'),
    'spec.restartPolicy': text(object, 'spec.restartPolicy'),
    'spec.schedulerName': text(object, 'spec.schedulerName'),
    'spec.serviceAccountName': text(object, 'spec.serviceAccountName'),
    'status.phase': text(object, 'status.phase'),
    'status.podIP': text(object, 'status.podIP'),
  }),
};

/** https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/ */
function qosClass(object: ApiObject): string {
  const spec = section(object, 'spec');
  const resources = [...objects(spec['initContainers']), ...objects(spec['containers'])].map((container) => {
    const { requests, limits } = section(container, 'resources');
    return { requests: isJson(requests) ? requests : {}, limits: isJson(limits) ? limits : {} };
  });
  if (resources.every(({ requests, limits }) => Object.keys({ ...requests, ...limits }).length === 0)) {
    return 'BestEffort';
  }
  const guaranteed = resources.every(({ requests, limits }) =>
    ['cpu', 'memory'].every((name) => limits[name] !== undefined && limits[name] === requests[name]),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}

/** Secrets and ConfigMaps that were made immutable stay as they are. */
const checkImmutable: NonNullable<Strategy['validate']> = (object, old) => {
  if (old?.['immutable'] !== true) return [];
  const message = 'Forbidden: field is immutable when `immutable` is set';
  const fields = ['data', 'binaryData'].filter((field) => !isDeepStrictEqual(object[field], old[field]));
  if (object['immutable'] !== true) fields.unshift('immutable');
  return fields.map((field) => ({ reason: 'FieldValueForbidden', message, field }));
};

const keyPattern = /^[-._a-zA-Z0-9]{1,253}$/;

function checkKeys(object: ApiObject): Cause[] {
  return Object.keys(isJson(object['data']) ? object['data'] : {})
    .filter((key) => !keyPattern.test(key))
    .map((key) => ({
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(key)}: a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
      field: `data[${key}]`,
    }));
}

function defaultSecret(object: ApiObject): void {
  const { stringData } = object;
  if (isJson(stringData)) {
    const data = section(object, 'data');
    for (const [key, value] of Object.entries(stringData)) data[key] = Buffer.from(String(value)).toString('base64');
    delete object['stringData'];
  }
  fill(object, { type: 'Opaque' });
}

function defaultService(object: ApiObject): void {
  const spec = section(object, 'spec');
  fill(spec, { sessionAffinity: 'None', type: 'ClusterIP' });
  if (spec['type'] !== 'ExternalName') {
    fill(spec, { internalTrafficPolicy: 'Cluster', ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' });
  }
  for (const port of objects(spec['ports'])) fill(port, { protocol: 'TCP', targetPort: port['port'] });
  if (typeof spec['clusterIP'] === 'string') fill(spec, { clusterIPs: [spec['clusterIP']] });
  fill(object, { status: { loadBalancer: {} } });
}

/** An address that was given stays, unless another one is asked for. */
function keepAddress(object: ApiObject, live: ApiObject): void {
  const address = valueAt(live, 'spec.clusterIP');
  if (typeof address === 'string') fill(section(object, 'spec'), { clusterIP: address, clusterIPs: [address] });
}

function defaultClaim(object: ApiObject): void {
  fill(section(object, 'spec'), { volumeMode: 'Filesystem' });
  fill(section(object, 'status'), { phase: 'Pending' });
}

/** Of a claim only the size may change, and only grow. */
function checkClaim(object: ApiObject, old: ApiObject | undefined): Cause[] {
  if (!old) return [];
  const fixed = ({ spec }: ApiObject) => ({ ...(spec as Json), resources: undefined, volumeName: undefined });
  if (isDeepStrictEqual(fixed(object), fixed(old))) return [];
  const message =
    'Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
  return [{ reason: 'FieldValueForbidden', message, field: 'spec' }];
}

const event: Strategy = {
  default: (object) => {
    fill(object, { eventTime: null, reportingComponent: '', reportingInstance: '', source: {} });
  },
  fields: (object) => ({
    ...Object.fromEntries(
      ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((name) => [
        `involvedObject.${name}`,
        text(object, `involvedObject.${name}`),
      ]),
    ),
    reason: text(object, 'reason'),
    reportingComponent: text(object, 'reportingComponent'),
    source: text(object, 'source.component'),
    type: text(object, 'type'),
  }),
};

function defaultLimitRange(object: ApiObject): void {
  for (const item of objects(valueAt(object, 'spec.limits'))) {
    if (item['type'] !== 'Container') continue;
    const { max, min } = item;
    if (isJson(max)) fill(section(item, 'default'), max);
    if (isJson(item['default'])) fill(section(item, 'defaultRequest'), item['default']);
    if (isJson(min)) fill(section(item, 'defaultRequest'), min);
  }
}

/** The core group. */
export const core = [
  define('v1', 'Namespace', 'namespaces', {
    namespaced: false,
    shortNames: ['ns'],
    names: 'label',
    status: true,
    strategy: {
      default: (object) => {
        object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
      },
      prepareCreate: (object) => {
        object.spec = { finalizers: ['kubernetes'] };
        object.status = { phase: 'Active' };
      },
      fields: (object) => ({ 'status.phase': text(object, 'status.phase') }),
    },
    columns: columnsOf('Namespace'),
  }),
  define('v1', 'Pod', 'pods', {
    shortNames: ['po'],
    all: true,
    generation: true,
    status: true,
    strategy: pod,
    columns: columnsOf('Pod'),
  }),
  define('v1', 'Service', 'services', {
    shortNames: ['svc'],
    all: true,
    names: 'label',
    status: true,
    strategy: { default: defaultService, prepareUpdate: keepAddress },
    columns: columnsOf('Service'),
  }),
  define('v1', 'Secret', 'secrets', {
    strategy: {
      default: defaultSecret,
      immutable: ['type'],
      validate: (object, old) => [...checkImmutable(object, old), ...checkKeys(object)],
      fields: (object) => ({ type: text(object, 'type') }),
    },
    columns: columnsOf('Secret'),
  }),
  define('v1', 'ConfigMap', 'configmaps', {
    shortNames: ['cm'],
    strategy: { validate: (object, old) => [...checkImmutable(object, old), ...checkKeys(object)] },
    columns: columnsOf('ConfigMap'),
  }),
  define('v1', 'ServiceAccount', 'serviceaccounts', { shortNames: ['sa'], columns: columnsOf('ServiceAccount') }),
  define('v1', 'Event', 'events', {
    model: 'CoreV1Event',
    shortNames: ['ev'],
    strategy: event,
    columns: columnsOf('Event'),
  }),
  define('v1', 'PersistentVolumeClaim', 'persistentvolumeclaims', {
    shortNames: ['pvc'],
    status: true,
    strategy: { default: defaultClaim, validate: checkClaim },
    columns: columnsOf('PersistentVolumeClaim'),
  }),
  define('v1', 'PersistentVolume', 'persistentvolumes', {
    namespaced: false,
    shortNames: ['pv'],
    status: true,
    columns: columnsOf('PersistentVolume'),
  }),
  define('v1', 'Node', 'nodes', { namespaced: false, shortNames: ['no'], status: true, columns: columnsOf('Node') }),
  define('v1', 'ResourceQuota', 'resourcequotas', {
    shortNames: ['quota'],
    status: true,
    strategy: { default: (object) => void section(object, 'status') },
  }),
  define('v1', 'LimitRange', 'limitranges', { shortNames: ['limits'], strategy: { default: defaultLimitRange } }),
];
