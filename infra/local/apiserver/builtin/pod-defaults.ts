import { isJson, type Json, textIn } from '../json.ts';

/** The objects of a list field. */
export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** The object of a field; made when there is none. */
export function section(parent: Json, name: string): Json {
  const value = parent[name];
  if (isJson(value)) return value;
  const made: Json = {};
  parent[name] = made;
  return made;
}

/** Sets what is not there. */
export function fill(target: Json, values: Json): void {
  for (const [name, value] of Object.entries(values)) target[name] ??= value;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#PodSpec */
export function defaultPodSpec(spec: Json): void {
  fill(spec, {
    dnsPolicy: 'ClusterFirst',
    restartPolicy: 'Always',
    schedulerName: 'default-scheduler',
    securityContext: {},
    terminationGracePeriodSeconds: 30,
  });
  // The old name of the same field.
  if (typeof spec['serviceAccountName'] === 'string') fill(spec, { serviceAccount: spec['serviceAccountName'] });
  for (const container of [...objects(spec['initContainers']), ...objects(spec['containers'])]) {
    defaultContainer(container);
  }
  for (const volume of objects(spec['volumes'])) defaultVolume(volume);
}

/** The template of a workload. */
export function defaultTemplate(parent: Json): void {
  const template = section(parent, 'template');
  section(template, 'metadata');
  defaultPodSpec(section(template, 'spec'));
}

function defaultContainer(container: Json): void {
  const image = textIn(container['image']);
  const tagged = image.includes('@') || /:[^/]*$/.test(image);
  const latest = !tagged || (image.endsWith(':latest') && !image.includes('@'));
  fill(container, {
    imagePullPolicy: latest ? 'Always' : 'IfNotPresent',
    resources: {},
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  });
  for (const port of objects(container['ports'])) fill(port, { protocol: 'TCP' });
  for (const { valueFrom } of objects(container['env'])) {
    const field = isJson(valueFrom) ? valueFrom['fieldRef'] : undefined;
    if (isJson(field)) fill(field, { apiVersion: 'v1' });
    const resource = isJson(valueFrom) ? valueFrom['resourceFieldRef'] : undefined;
    if (isJson(resource)) fill(resource, { divisor: '0' });
  }
  for (const name of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
    const probe = container[name];
    if (!isJson(probe)) continue;
    fill(probe, { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 });
    defaultHttpGet(probe);
  }
  const lifecycle = container['lifecycle'];
  if (isJson(lifecycle)) for (const handler of Object.values(lifecycle)) if (isJson(handler)) defaultHttpGet(handler);
}

function defaultHttpGet({ httpGet }: Json): void {
  if (isJson(httpGet)) fill(httpGet, { path: '/', scheme: 'HTTP' });
}

function defaultVolume(volume: Json): void {
  const { secret, configMap, projected, hostPath, downwardAPI } = volume;
  for (const source of [secret, configMap, projected, downwardAPI]) {
    if (isJson(source)) fill(source, { defaultMode: 0o644 });
  }
  if (isJson(hostPath)) fill(hostPath, { type: '' });
  for (const { serviceAccountToken } of isJson(projected) ? objects(projected['sources']) : []) {
    if (isJson(serviceAccountToken)) fill(serviceAccountToken, { expirationSeconds: 3600 });
  }
  // A volume of no kind is an empty folder.
  if (Object.keys(volume).every((name) => name === 'name')) volume['emptyDir'] = {};
}
