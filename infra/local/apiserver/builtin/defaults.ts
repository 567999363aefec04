import { isJson, objects, section, textIn, valueAt, type Json } from '../json.ts';
import type { ApiObject } from '../resource.ts';

/**
 * Defaults of omitted fields, by type name of the client library.
 * https://kubernetes.io/docs/reference/kubernetes-api/
 */
export const typeDefaults: Readonly<Record<string, Json>> = {
  V1PodTemplateSpec: { metadata: {}, spec: {} },
  V1PodSpec: {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  },
  V1Container: { resources: {}, terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
  V1ContainerPort: { protocol: 'TCP' },
  V1ObjectFieldSelector: { apiVersion: 'v1' },
  V1Probe: { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 },
  V1HTTPGetAction: { path: '/', scheme: 'HTTP' },
  V1SecretVolumeSource: { defaultMode: 0o644 },
  V1ConfigMapVolumeSource: { defaultMode: 0o644 },
  V1ProjectedVolumeSource: { defaultMode: 0o644 },
  V1ServiceAccountTokenProjection: { expirationSeconds: 3600 },

  V1Deployment: { status: {} },
  V1DeploymentSpec: { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600, strategy: {}, template: {} },
  V1DeploymentStrategy: { type: 'RollingUpdate' },
  V1ReplicaSet: { status: {} },
  V1ReplicaSetSpec: { replicas: 1, template: {} },
  V1ReplicaSetStatus: { replicas: 0 },
  V1StatefulSet: { status: {} },
  V1StatefulSetSpec: { podManagementPolicy: 'OrderedReady', replicas: 1, updateStrategy: {}, template: {} },
  V1StatefulSetUpdateStrategy: { type: 'RollingUpdate' },

  V1Job: { status: {} },
  V1JobSpec: { template: {} },
  V1CronJob: { status: {} },
  V1CronJobSpec: {
    concurrencyPolicy: 'Allow',
    suspend: false,
    successfulJobsHistoryLimit: 3,
    failedJobsHistoryLimit: 1,
    jobTemplate: {},
  },
  V1JobTemplateSpec: { metadata: {}, spec: {} },

  V1Secret: { type: 'Opaque' },
  V1Service: { spec: {}, status: { loadBalancer: {} } },
  V1ServiceSpec: {
    sessionAffinity: 'None',
    type: 'ClusterIP',
    internalTrafficPolicy: 'Cluster',
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  },
  V1ServicePort: { protocol: 'TCP' },
  V1PersistentVolumeClaim: { spec: {}, status: {} },
  V1PersistentVolumeClaimSpec: { volumeMode: 'Filesystem' },
  V1PersistentVolumeClaimStatus: { phase: 'Pending' },
  V1ResourceQuota: { status: {} },
  V1StorageClass: { reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' },
  V1NetworkPolicyPort: { protocol: 'TCP' },
  V1RoleRef: { apiGroup: 'rbac.authorization.k8s.io' },
  CoreV1Event: { eventTime: null, reportingComponent: '', reportingInstance: '', source: {} },
  V1CustomResourceDefinitionSpec: { conversion: { strategy: 'None' } },
};

/** Sets missing fields. */
export function fill(target: Json, values: Json): void {
  for (const [name, value] of Object.entries(values)) target[name] ??= value;
}

/** The containers and init containers of a pod spec. */
export function containersOf(podSpec: unknown): Json[] {
  return [...objects(valueAt(podSpec, 'initContainers')), ...objects(valueAt(podSpec, 'containers'))];
}

/** Sets the pull policy: images with a tag that may move are always pulled. `path` leads to the pod spec. */
export const defaultImages = (path: string) => (object: ApiObject) => {
  for (const container of containersOf(valueAt(object, path))) {
    const isMutable = /^[^@]*(?::latest|(?:^|\/)[^:@/]+)$/.test(textIn(container['image']));
    fill(container, { imagePullPolicy: isMutable ? 'Always' : 'IfNotPresent' });
  }
};
const defaultTemplate = defaultImages('spec.template.spec');

export function defaultPod(object: ApiObject): void {
  const spec = section(object, 'spec');
  defaultImages('spec')(object);
  fill(spec, { enableServiceLinks: true, serviceAccountName: 'default' });
  for (const container of containersOf(spec)) {
    const resources = section(container, 'resources');
    if (isJson(resources['limits'])) fill(section(resources, 'requests'), resources['limits']);
  }
}

export function defaultDeployment(object: ApiObject): void {
  defaultTemplate(object);
  const strategy = section(section(object, 'spec'), 'strategy');
  if (strategy['type'] === 'RollingUpdate') {
    fill(section(strategy, 'rollingUpdate'), { maxUnavailable: '25%', maxSurge: '25%' });
  }
  const status = section(object, 'status');
  // Go omits zero values.
  for (const name of Object.keys(status)) if (status[name] === 0) delete status[name];
}

/** Not in `typeDefaults`, since a CronJob's template gets these defaults only in its Jobs. */
const jobDefaults = {
  parallelism: 1,
  backoffLimit: 6,
  completionMode: 'NonIndexed',
  suspend: false,
  podReplacementPolicy: 'TerminatingOrFailed',
  manualSelector: false,
};

export function defaultJob(object: ApiObject): void {
  defaultTemplate(object);
  const spec = section(object, 'spec');
  fill(spec, { ...(spec['parallelism'] === undefined && { completions: 1 }), ...jobDefaults });
  const labels = valueAt(spec, 'template.metadata.labels');
  // The real server also shares this map, so that the Job gets the labels that are added to the template.
  if (isJson(labels)) object.metadata.labels ??= labels as Record<string, string>;
}

/** A Job selects its pods by its uid, so that no two Jobs share a pod. */
export function selectOwnPods(object: ApiObject): void {
  const spec = section(object, 'spec');
  const { uid, name } = object.metadata;
  Object.assign(section(section(section(spec, 'template'), 'metadata'), 'labels'), {
    'batch.kubernetes.io/controller-uid': uid,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': uid,
    'job-name': name,
  });
  spec['selector'] = { matchLabels: { 'batch.kubernetes.io/controller-uid': uid } };
}

export function defaultSecret(object: ApiObject): void {
  const { stringData } = object;
  delete object['stringData'];
  for (const [key, value] of Object.entries(isJson(stringData) ? stringData : {})) {
    section(object, 'data')[key] = Buffer.from(String(value)).toString('base64');
  }
}

export function defaultService(object: ApiObject): void {
  const spec = section(object, 'spec');
  for (const port of objects(spec['ports'])) fill(port, { targetPort: port['port'] });
  if (typeof spec['clusterIP'] === 'string') fill(spec, { clusterIPs: [spec['clusterIP']] });
}

/** Keeps an assigned address unless the update sets another one. */
export function keepAddress(object: ApiObject, live: ApiObject): void {
  const { clusterIP, clusterIPs } = section(live, 'spec');
  if (clusterIP !== undefined) fill(section(object, 'spec'), { clusterIP, clusterIPs });
}

export function defaultNetworkPolicy(object: ApiObject): void {
  const spec = section(object, 'spec');
  fill(spec, { policyTypes: spec['egress'] === undefined ? ['Ingress'] : ['Ingress', 'Egress'] });
}

export function defaultBinding(object: ApiObject): void {
  for (const subject of objects(object['subjects'])) {
    if (subject['kind'] !== 'ServiceAccount') fill(subject, { apiGroup: 'rbac.authorization.k8s.io' });
  }
}

export function defaultDefinition(object: ApiObject): void {
  const names = section(section(object, 'spec'), 'names');
  const kind = textIn(names['kind']);
  fill(names, { listKind: `${kind}List`, singular: kind.toLowerCase() });
}
