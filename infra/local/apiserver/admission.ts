import { parseBytes, parseMillicores } from '../../../runtime/domain/quantity.ts';
import { forbidden, notFound } from './api-error.ts';
import { containersOf, fill } from './builtin/defaults.ts';
import { isJson, objects, section, textIn, valueAt } from './json.ts';
import type { Admission } from './objects.ts';
import type { ApiObject, Resource } from './resource.ts';
import type { Store } from './store.ts';

/** Checks every new object beyond the rules of its kind, and adds defaults of its namespace. */
export function createAdmission(store: Store): Admission {
  return (object, resource) => {
    const { name, namespace } = object.metadata;
    if (namespace === undefined) return;
    const live = store.get('/namespaces', undefined, namespace);
    if (!live) throw notFound({ group: '', plural: 'namespaces', kind: 'Namespace' }, namespace);
    if (live.metadata.deletionTimestamp !== undefined) {
      const message = `namespace ${namespace} is being terminated`;
      const reason = `unable to create new content in namespace ${namespace} because it is being terminated`;
      throw forbidden(resource, name, reason, [
        { reason: 'NamespaceTerminating', message, field: 'metadata.namespace' },
      ]);
    }
    if (resource.group !== '') return;
    if (resource.kind === 'Pod') applyLimitRanges(store, object);
    if (resource.kind === 'PersistentVolumeClaim') applyStorageClass(store, object);
    if (resource.kind === 'Pod' || resource.kind === 'PersistentVolumeClaim') checkQuotas(store, object, resource);
  };
}

/** Applies the defaults of the namespace's LimitRanges to a new pod's containers. Changes its argument. */
function applyLimitRanges(store: Store, pod: ApiObject): void {
  const ranges = store.list('/limitranges', pod.metadata.namespace);
  for (const item of ranges.flatMap((range) => objects(valueAt(range, 'spec.limits')))) {
    if (item['type'] !== 'Container') continue;
    for (const container of containersOf(section(pod, 'spec'))) {
      const resources = section(container, 'resources');
      if (isJson(item['defaultRequest'])) fill(section(resources, 'requests'), item['defaultRequest']);
      if (isJson(item['default'])) fill(section(resources, 'limits'), item['default']);
    }
  }
}

/** Sets the default StorageClass on a new claim without one. Changes its argument. */
function applyStorageClass(store: Store, claim: ApiObject): void {
  const isDefault = ({ metadata: { annotations } }: ApiObject) =>
    annotations?.['storageclass.kubernetes.io/is-default-class'] === 'true';
  const name = store.list('storage.k8s.io/storageclasses', undefined).find(isDefault)?.metadata.name;
  if (name !== undefined) fill(section(claim, 'spec'), { storageClassName: name });
}

/** A quantity as a number: millicores, bytes or pieces. */
function amountOf(key: string, quantity: unknown): number {
  const text = textIn(quantity);
  if (key.endsWith('cpu')) return parseMillicores(text) ?? 0;
  return (/memory$|storage$/.test(key) ? parseBytes(text) : Number(text)) ?? 0;
}

/** How much of a quota's resource one object uses. */
function usageOf(object: ApiObject, key: string): number {
  if (object.kind === 'PersistentVolumeClaim') {
    if (key === 'persistentvolumeclaims') return 1;
    return key === 'requests.storage' ? amountOf(key, valueAt(object, `spec.resources.${key}`)) : 0;
  }
  if (object.kind !== 'Pod' || ['Succeeded', 'Failed'].includes(textIn(valueAt(object, 'status.phase')))) return 0;
  if (key === 'pods') return 1;
  const spec = section(object, 'spec');
  const amounts = (list: string) =>
    objects(spec[list]).map((container) => amountOf(key, valueAt(container, `resources.${key}`)));
  // Init containers run one at a time, before the others.
  return Math.max(
    amounts('containers').reduce((sum, amount) => sum + amount, 0),
    ...amounts('initContainers'),
  );
}

/**
 * Refuses a pod or claim that exceeds a ResourceQuota of its namespace.
 * @throws ApiError 403, in the words of the real server
 */
function checkQuotas(store: Store, object: ApiObject, resource: Resource): void {
  const { name, namespace } = object.metadata;
  for (const quota of store.list('/resourcequotas', namespace)) {
    const existing = store.list(`/${resource.plural}`, namespace);
    const hard = Object.entries(section(section(quota, 'spec'), 'hard'));
    for (const [key, limit] of hard.sort(([a], [b]) => (a < b ? -1 : 1))) {
      const used = existing.reduce((sum, item) => sum + usageOf(item, key), 0);
      const requested = usageOf(object, key);
      if (requested === 0 || used + requested <= amountOf(key, limit)) continue;
      const unit = key.endsWith('cpu') ? 'm' : '';
      const amounts = [
        `requested: ${key}=${requested}${unit}`,
        `used: ${key}=${used}${unit}`,
        `limited: ${key}=${textIn(limit)}`,
      ];
      throw forbidden(resource, name, `exceeded quota: ${quota.metadata.name}, ${amounts.join(', ')}`);
    }
  }
}
