import type { V1PodSpec, V1ResourceQuotaStatus } from '@kubernetes/client-node';
import type { WarmTemplate } from '../../infra/manifests/warm-pool.ts';
import { parseBytes, parseMillicores } from '../../runtime/domain/quantity.ts';

/** The most pools of an environment. */
const poolsMax = 4;
/** The part of each limit of an environment up to which it has generic pods. */
const share = 0.75;

/** The resources of pods that an environment's quota counts. */
type Usage = Record<'pods' | 'requests.cpu' | 'limits.memory', number>;

const none: Usage = { pods: 0, 'requests.cpu': 0, 'limits.memory': 0 };

/**
 * The pools of an environment: the templates that most functions can use. Pure.
 * @param templates one for each function
 */
export function poolsOf(templates: readonly WarmTemplate[]): WarmTemplate[] {
  const groups = [...Map.groupBy(templates, ({ digest }) => digest).values()];
  return groups
    .toSorted((a, b) => b.length - a.length || (a[0]?.digest ?? '').localeCompare(b[0]?.digest ?? ''))
    .slice(0, poolsMax)
    .flatMap(([template]) => template ?? []);
}

/**
 * Whether an environment has room for its generic pods: without them it uses at most three quarters of each limit of its
 * quota, and with them at most all of it. An environment without a quota has. Pure.
 * @param existing the pod specs of the generic pods that exist @param desired those of all that there should be
 */
export function hasRoom(
  { hard = {}, used = {} }: Pick<V1ResourceQuotaStatus, 'hard' | 'used'>,
  { existing, desired }: { existing: readonly object[]; desired: readonly object[] },
): boolean {
  const [before, after] = [usageOf(existing), usageOf(desired)];
  return (Object.keys(none) as (keyof Usage)[]).every((resource) => {
    const limit = amountOf(resource, hard[resource]);
    if (limit === undefined) return true;
    const others = (amountOf(resource, used[resource]) ?? 0) - before[resource];
    return others <= limit * share && others + after[resource] <= limit;
  });
}

function usageOf(pods: readonly object[]): Usage {
  const usage = { ...none };
  for (const pod of pods) {
    usage.pods += 1;
    for (const { resources } of (pod as V1PodSpec).containers) {
      usage['requests.cpu'] += parseMillicores(resources?.requests?.['cpu'] ?? '') ?? 0;
      usage['limits.memory'] += parseBytes(resources?.limits?.['memory'] ?? '') ?? 0;
    }
  }
  return usage;
}

function amountOf(resource: keyof Usage, quantity: string | undefined): number | undefined {
  if (quantity === undefined) return undefined;
  return resource === 'requests.cpu' ? parseMillicores(quantity) : parseBytes(quantity);
}
