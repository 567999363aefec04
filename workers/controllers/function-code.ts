import {
  dependenciesClaim,
  dependenciesClaimName,
  hasDependencies,
} from '../../infra/manifests/function-dependencies.ts';
import { partLabel } from '../../infra/manifests/function-identity.ts';
import { codeConfigMap, codeConfigMapName, type RunWith } from '../../infra/manifests/function-pod.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { inlineCode, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { functionImage, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { idLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { refIn } from './function-child.ts';
import type { WorkloadIdentity } from './workload.ts';

/**
 * The settings for running a function in this installation.
 * @throws Problem when its runtime is not installed
 */
export function runWithOf(config: PlatformConfigSpec, { spec }: Pick<FunctionResource, 'spec'>): RunWith {
  const { packageRegistries, caCertificates } = config;
  return {
    image: functionImage(config, spec),
    sources: {
      ...(packageRegistries && { packageRegistries }),
      ...(caCertificates !== undefined && { caCertificates }),
    },
    eventImage: config.runtimeImages.node,
  };
}

/** Creates the ConfigMap for the code in the spec, and the claim for its dependencies. */
export async function ensureCode(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  identity: WorkloadIdentity,
  { image }: RunWith,
): Promise<void> {
  const code = inlineCode(resource.spec);
  if (!code) return;
  await ensureChild(kube, resource, codeConfigMap(identity, code), { cached: true });
  if (!hasDependencies(code)) return;
  // A claim cannot change; keep the defaults that the cluster added.
  await ensureChild(kube, resource, dependenciesClaim(identity, { ...code, image }), { keep: (live) => live });
}

export interface Collection {
  /** The image of the function's runtime, on which its dependencies depend. */
  image: string;
  /** Templates that may refer to code without a pod, such as that of a run without pods. */
  templates?: readonly { spec: Record<string, unknown> }[];
  /** Old code is kept until the newest is older than `ms`. */
  retention?: { now: Date; ms: number };
}

/**
 * Deletes former code and claims that no pod mounts, terminating pods included.
 * @returns milliseconds until the next check, if it is too early to delete
 */
export async function collectCode(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  identity: WorkloadIdentity,
  { image, templates = [], retention }: Collection,
): Promise<number | undefined> {
  const { id, namespace } = identity;
  const current = currentNames(resource, identity, image);
  const objects = await codeObjects(kube, identity, current);
  const old = objects.filter(({ metadata }) => !current.has(metadata.name));
  if (old.length === 0) return undefined;
  if (retention) {
    const newest = Math.max(...objects.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '')));
    const leftMs = newest + retention.ms - retention.now.getTime();
    if (leftMs > 0) return leftMs;
  }
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace, labelSelector: `${idLabel}=${id}` });
  const used = new Set([...pods.map((pod) => pod.spec), ...templates.map(podSpecOf)].flatMap(mountedIn));
  for (const { apiVersion, kind, metadata } of old) {
    if (!used.has(metadata.name))
      await deleteChild(kube, resource, refIn(namespace, { apiVersion, kind }, metadata.name));
  }
  return undefined;
}

/** The names of the ConfigMap and the claim of the code in the spec. */
function currentNames({ spec }: FunctionResource, { name }: WorkloadIdentity, image: string): ReadonlySet<string> {
  const code = inlineCode(spec);
  if (!code) return new Set();
  const names = [codeConfigMapName(name, code)];
  if (hasDependencies(code)) names.push(dependenciesClaimName(name, { ...code, image }));
  return new Set(names);
}

/** The ConfigMaps and claims of a function's code. A kind of which the cache shows only current ones is left out. */
async function codeObjects(
  kube: Pick<KubeClient, 'cache' | 'list'>,
  { id, namespace }: WorkloadIdentity,
  current: ReadonlySet<string>,
): Promise<Stored<KubeObject>[]> {
  const parts: [ResourceKind, string][] = [
    [kinds.ConfigMap, 'code'],
    [kinds.PersistentVolumeClaim, 'dependencies'],
  ];
  const objects: Stored<KubeObject>[] = [];
  for (const [kind, part] of parts) {
    const cached = kube.cache?.list(kind, { ...managedLabels(), [idLabel]: id, [partLabel]: part }, namespace);
    if (cached?.every(({ metadata }) => current.has(metadata.name))) continue;
    const { items } = await kube.list(kind, { namespace, labelSelector: `${idLabel}=${id},${partLabel}=${part}` });
    objects.push(...items);
  }
  return objects;
}

type Volumes = Pick<Pod['spec'], 'volumes'>;

function podSpecOf({ spec }: { spec: Record<string, unknown> }): Volumes {
  return (spec['template'] as { spec: Volumes }).spec;
}

function mountedIn({ volumes = [] }: Volumes): string[] {
  return volumes.flatMap(
    ({ configMap, persistentVolumeClaim }) => configMap?.name ?? persistentVolumeClaim?.claimName ?? [],
  );
}
