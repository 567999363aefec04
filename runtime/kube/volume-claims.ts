import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Volume, VolumeMount } from '../contracts/resources/volume.ts';
import { apiGroup, kindLabel } from '../domain/labels.ts';
import { isReservedClaimName } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import type { KubeClient } from './kube-client.ts';

/**
 * Checks that the storage of each mount belongs to the Volume of its name. Pods mount claims by name, and an environment
 * has other claims too: the data of services and the installed packages of functions. A claim that does not exist yet
 * becomes the Volume's, unless its name is reserved.
 * @throws Problem `invalid_value`
 */
export async function checkClaims(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly Pick<VolumeMount, 'name'>[] = [],
): Promise<void> {
  for (const name of new Set(mounts.map((mount) => mount.name))) {
    const claim = await kube.get(kinds.PersistentVolumeClaim, name, namespace);
    const volume = claim && (await kube.get<Volume>(kinds.Volume, name, namespace));
    if (claim ? belongsTo(claim, volume) : !isReservedClaimName(name)) continue;
    throw new Problem(
      'invalid_value',
      `"${name}" is not the storage of a volume, so it cannot be mounted. Create a volume with another name: svc volume create.`,
      { details: { field: 'volumes' } },
    );
  }
}

/** The scheduler's annotation on a claim whose storage is created on the node of its first pod. */
const nodeAnnotation = 'volume.kubernetes.io/selected-node';

/** The node on which the storage of one of these mounts was created, where storage belongs to a node. */
export async function storageNode(
  kube: Pick<KubeClient, 'get'>,
  namespace: string,
  mounts: readonly Pick<VolumeMount, 'name'>[] = [],
): Promise<string | undefined> {
  for (const name of new Set(mounts.map((mount) => mount.name))) {
    const claim = await kube.get(kinds.PersistentVolumeClaim, name, namespace);
    const node = claim?.metadata.annotations?.[nodeAnnotation];
    if (node !== undefined) return node;
  }
  return undefined;
}

function belongsTo({ metadata }: Stored<KubeObject>, volume: Stored<Volume> | undefined): boolean {
  const { labels, ownerReferences = [] } = metadata;
  if (!volume || labels?.[kindLabel] !== 'Volume') return false;
  return ownerReferences.some(
    ({ apiVersion, kind, uid }) =>
      apiVersion.startsWith(`${apiGroup}/`) && kind === 'Volume' && uid === volume.metadata.uid,
  );
}
