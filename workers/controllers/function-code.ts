import { codeConfigMap, codeConfigMapName, partLabel, type CodeConfigMap } from '../../infra/manifests/function-pod.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { refIn } from './function-child.ts';
import type { WorkloadIdentity } from './workload.ts';

/** Makes the ConfigMap of the code that the spec has. */
export async function ensureCode(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  identity: WorkloadIdentity,
): Promise<void> {
  await ensureChild(kube, resource, codeConfigMap(identity, resource.spec), { cached: true });
}

export interface Collection {
  /** What refers to code without being a pod, such as a run that has none yet. */
  templates?: readonly { spec: Record<string, unknown> }[];
  /** Old code stays until the newest is older than this. */
  settled?: { now: Date; ms: number };
}

/**
 * Removes code that is not the spec's once no pod, not even a going one, has it mounted.
 * @returns in how many ms to look again, when it is too early to tell
 */
export async function collectCode(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  { id, namespace, name }: WorkloadIdentity,
  { templates = [], settled }: Collection = {},
): Promise<number | undefined> {
  const labels = { ...managedLabels(), [idLabel]: id, [partLabel]: 'code' };
  const current = codeConfigMapName(name, resource.spec);
  const known = kube.cache?.list<CodeConfigMap>(kinds.ConfigMap, labels, namespace);
  if (known?.every(({ metadata }) => metadata.name === current)) return undefined;
  const { items } = await kube.list<CodeConfigMap>(kinds.ConfigMap, {
    namespace,
    labelSelector: `${idLabel}=${id},${partLabel}=code`,
  });
  if (settled && items.length > 1) {
    const newest = Math.max(...items.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '')));
    const leftMs = newest + settled.ms - settled.now.getTime();
    if (leftMs > 0) return leftMs;
  }
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${idLabel}=${id}` });
  const used = new Set([...pods.map(({ spec }) => spec), ...templates.map(podSpecOf)].flatMap(codeIn));
  used.add(current);
  for (const { metadata } of items) {
    if (!used.has(metadata.name)) await deleteChild(kube, resource, refIn(namespace, kinds.ConfigMap, metadata.name));
  }
  return undefined;
}

type Volumes = Pick<Pod['spec'], 'volumes'>;

function podSpecOf({ spec }: { spec: Record<string, unknown> }): Volumes {
  return (spec['template'] as { spec: Volumes }).spec;
}

function codeIn({ volumes = [] }: Volumes): string[] {
  return volumes.flatMap(({ configMap }) => configMap?.name ?? []);
}
