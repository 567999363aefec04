import { canonicalBytes, canonicalCpu, parseBytes, parseMillicores } from '../../../runtime/domain/quantity.ts';
import { forbidden } from './api-error.ts';
import { fill, objects, section } from './builtin/pod-defaults.ts';
import { isJson, textIn, valueAt, type Json } from './json.ts';
import type { ApiObject, Resource } from './resource.ts';
import type { Store } from './store.ts';

type Amounts = Readonly<Record<string, number>>;

const containersOf = (pod: ApiObject): Json[] => [
  ...objects(valueAt(pod, 'spec.initContainers')),
  ...objects(valueAt(pod, 'spec.containers')),
];
const isOver = (pod: ApiObject) => ['Succeeded', 'Failed'].includes(textIn(valueAt(pod, 'status.phase')));

/** Gives a new pod's containers what the LimitRanges of its namespace say. Changes its argument. */
export function applyLimitRanges(store: Store, pod: ApiObject): void {
  for (const range of store.list('/limitranges', pod.metadata.namespace)) {
    for (const item of objects(valueAt(range, 'spec.limits'))) {
      if (item['type'] !== 'Container') continue;
      for (const container of containersOf(pod)) {
        const resources = section(container, 'resources');
        // A limit that a container names itself is also what it requests, before any default.
        const { limits } = resources;
        if (isJson(limits)) fill(section(resources, 'requests'), limits);
        if (isJson(item['defaultRequest'])) fill(section(resources, 'requests'), item['defaultRequest']);
        if (isJson(item['default'])) fill(section(resources, 'limits'), item['default']);
      }
    }
  }
}

const isCpu = (resource: string) => resource.endsWith('cpu');
const isCount = (resource: string) => !/(cpu|memory|storage)$/.test(resource);

/** In thousandths of a CPU, bytes, or pieces. */
function amountOf(resource: string, quantity: unknown): number {
  const text = textIn(quantity);
  if (isCpu(resource)) return parseMillicores(text) ?? 0;
  return isCount(resource) ? Number(text) || 0 : (parseBytes(text) ?? 0);
}

function shown(resource: string, amount: number): string {
  if (isCount(resource)) return String(amount);
  if (amount === 0) return '0';
  return isCpu(resource) ? canonicalCpu(`${amount}m`) : canonicalBytes(`${amount}`);
}

/** What one object takes of a quota. */
function usageOf(object: ApiObject): Amounts {
  if (object.kind === 'PersistentVolumeClaim') {
    const storage = amountOf('storage', valueAt(object, 'spec.resources.requests.storage'));
    return { persistentvolumeclaims: 1, 'requests.storage': storage };
  }
  if (isOver(object)) return {};
  const total = (part: 'requests' | 'limits', resource: 'cpu' | 'memory') => {
    const sum = (list: string) =>
      objects(valueAt(object, `spec.${list}`)).map((container) =>
        amountOf(resource, valueAt(container, `resources.${part}.${resource}`)),
      );
    // Init containers run one after the other, before the others.
    return Math.max(
      sum('containers').reduce((a, b) => a + b, 0),
      ...sum('initContainers'),
    );
  };
  return {
    pods: 1,
    'requests.cpu': total('requests', 'cpu'),
    'requests.memory': total('requests', 'memory'),
    'limits.cpu': total('limits', 'cpu'),
    'limits.memory': total('limits', 'memory'),
  };
}

/**
 * Refuses a pod or a claim for which a ResourceQuota of its namespace has no room left.
 * @throws ApiError 403, in the words of the real server
 */
export function checkQuotas(store: Store, object: ApiObject, resource: Resource): void {
  const { name, namespace } = object.metadata;
  const quotas = store.list('/resourcequotas', namespace);
  if (quotas.length === 0) return;
  const asked = usageOf(object);
  const others = store.list(`/${resource.plural}`, namespace).map(usageOf);
  for (const quota of quotas) {
    const hard = section(section(quota, 'spec'), 'hard');
    const limited = Object.keys(hard)
      .filter((key) => key in asked)
      .sort();
    const unsaid = limited.filter((key) => /^(requests|limits)\.(cpu|memory)$/.test(key) && !saysAll(object, key));
    if (unsaid.length > 0) {
      const names = containersOf(object).map((container) => textIn(container['name']));
      const list = unsaid.map((key) => `${key} for: ${names.join(',')}`).join('; ');
      throw forbidden(resource, name, `failed quota: ${quota.metadata.name}: must specify ${list}`);
    }
    const used = (key: string) => others.reduce((sum, usage) => sum + (usage[key] ?? 0), 0);
    const exceeded = limited.filter((key) => used(key) + (asked[key] ?? 0) > amountOf(key, hard[key]));
    if (exceeded.length === 0) continue;
    const list = (amount: (key: string) => string) => exceeded.map((key) => `${key}=${amount(key)}`).join(',');
    throw forbidden(
      resource,
      name,
      `exceeded quota: ${quota.metadata.name}, requested: ${list((key) => shown(key, asked[key] ?? 0))}, used: ${list((key) => shown(key, used(key)))}, limited: ${list((key) => textIn(hard[key]))}`,
    );
  }
}

function saysAll(pod: ApiObject, key: string): boolean {
  return containersOf(pod).every((container) => valueAt(container, `resources.${key}`) !== undefined);
}
