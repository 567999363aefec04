import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { isPodEnded, type Pod } from '../contracts/pod.ts';
import { kinds, workloadResources } from '../contracts/resources/kinds.ts';
import type { Volume, VolumeMount } from '../contracts/resources/volume.ts';
import { appLabel, kindLabel } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from './kube-client.ts';

/** A workload or pod that mounts a volume. */
export interface VolumeUser {
  /** The kind of a workload, or `Pod` for a pod without one. */
  kind: string;
  name: string;
}

/**
 * Finds the users of volumes in one namespace: the workloads that name a volume in their spec, except those that are being
 * deleted, and the pods that mount it, listed under the name of their workload.
 */
export async function volumeUsers(
  kube: Pick<KubeClient, 'list'>,
  namespace: string,
): Promise<(volume: string) => VolumeUser[]> {
  const usersByVolume = new Map<string, Map<string, VolumeUser>>();
  const add = (volume: string, user: VolumeUser) => {
    const users = usersByVolume.get(volume) ?? new Map<string, VolumeUser>();
    usersByVolume.set(volume, users.set(`${user.kind}/${user.name}`, user));
  };
  const workloads = await Promise.all(Object.values(workloadResources).map((kind) => kube.list(kind, { namespace })));
  for (const workload of workloads.flatMap(({ items }) => items)) {
    if (workload.metadata.deletionTimestamp !== undefined) continue;
    for (const { name } of mountsOf(workload)) add(name, { kind: workload.kind, name: workload.metadata.name });
  }
  const { items: pods } = await kube.list<Pod>(kinds.Pod, { namespace });
  for (const pod of pods) {
    if (isPodEnded(pod)) continue;
    for (const { persistentVolumeClaim: claim } of pod.spec.volumes ?? [])
      if (claim) add(claim.claimName, ownerOf(pod));
  }
  return (volume) => [...(usersByVolume.get(volume)?.values() ?? [])].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * The first of these volumes that only one pod can mount at a time. A missing volume counts as such. Access modes never
 * change.
 */
export async function exclusiveVolume(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly Pick<VolumeMount, 'name'>[] = [],
): Promise<string | undefined> {
  for (const { name } of mounts) {
    const volume = await kube.get<Volume>(kinds.Volume, name, namespace);
    if (volume?.spec.accessMode !== 'ReadWriteMany') return name;
  }
  return undefined;
}

/** The error for more than one replica with such a volume. */
export function oneReplicaOnly(kind: 'App' | 'Function', volume: string): Problem {
  const [article, field] = kind === 'App' ? ['an', 'replicas'] : ['a', 'maxReplicas'];
  return new Problem(
    'invalid_value',
    `The volume "${volume}" is ReadWriteOnce, so ${article} ${kind.toLowerCase()} that mounts it can have at most 1 replica. Use a ReadWriteMany volume for more.`,
    { details: { field, volume } },
  );
}

/** Lists users in a message: `the job "report" and the app "api"`. */
export function usersPhrase(users: readonly VolumeUser[]): string {
  const names = users.map(({ kind, name }) => `the ${kind.toLowerCase()} "${name}"`);
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(names);
}

function mountsOf({ spec }: Stored<KubeObject>): readonly Pick<VolumeMount, 'name'>[] {
  return (spec as { volumes?: readonly Pick<VolumeMount, 'name'>[] } | undefined)?.volumes ?? [];
}

function ownerOf({ metadata: { name, labels } }: Stored<Pod>): VolumeUser {
  const kind = labels?.[kindLabel];
  const workload = labels?.[appLabel];
  return kind === undefined || workload === undefined ? { kind: 'Pod', name } : { kind, name: workload };
}
