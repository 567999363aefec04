import type { VolumeClaim } from '../../infra/manifests/volume.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Volume, VolumeStatus } from '../../runtime/contracts/resources/volume.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/config-and-storage-resources/storage-class-v1/ */
export interface StorageClass extends KubeObject {
  volumeBindingMode?: 'Immediate' | 'WaitForFirstConsumer';
  allowVolumeExpansion?: boolean;
}

/** The status after a pass that reached its end. Pure. */
export function observedStatus(
  volume: Stored<Volume>,
  claim: Stored<VolumeClaim> | undefined,
  storageClass: Stored<StorageClass> | undefined,
  now: Date,
): VolumeStatus {
  const { generation } = volume.metadata;
  const { phase, message } = phaseOf(claim, storageClass);
  const capacity = claim?.status?.capacity?.storage;
  const className = claim?.spec.storageClassName;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase,
    ...(message !== undefined && { message }),
    ...(capacity !== undefined && { capacity }),
    ...(className !== undefined && { storageClass: className }),
    conditions: mergeConditions(volume.status?.conditions, [childrenAdoptedState(generation)], now),
  };
}

function phaseOf(
  claim: Stored<VolumeClaim> | undefined,
  storageClass: Stored<StorageClass> | undefined,
): Pick<VolumeStatus, 'message'> & { phase: NonNullable<VolumeStatus['phase']> } {
  if (!claim) return { phase: 'pending' };
  const { spec, status } = claim;
  if (status?.phase === 'Lost') return { phase: 'failed', message: 'The storage behind this volume is gone.' };
  if (status?.phase !== 'Bound') {
    if (spec.storageClassName === undefined) {
      return {
        phase: 'waiting',
        message: 'The cluster has no default storage class; create one, or name one with --class.',
      };
    }
    if (!storageClass) {
      return { phase: 'waiting', message: `The cluster has no storage class "${spec.storageClassName}".` };
    }
    return storageClass.volumeBindingMode === 'WaitForFirstConsumer'
      ? { phase: 'waiting', message: 'The storage is made once something mounts the volume.' }
      : { phase: 'pending' };
  }
  const wanted = parseBytes(spec.resources.requests.storage) ?? 0;
  const present = parseBytes(status.capacity?.storage ?? '') ?? wanted;
  if (present >= wanted) return { phase: 'ready' };
  const going = status.conditions?.find(({ type, status: value }) => value === 'True' && /Resiz/.test(type));
  const waits = going?.type === 'FileSystemResizePending';
  return {
    phase: 'resizing',
    ...(waits && { message: 'The file system grows the next time a pod mounts the volume.' }),
    ...(!waits && going?.message && { message: going.message }),
  };
}
