import type { VolumeClaim } from '../../infra/manifests/volume.ts';
import type { V1StorageClass } from '@kubernetes/client-node';
import type { BuiltIn, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Volume, VolumeStatus } from '../../runtime/contracts/resources/volume.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';

export type StorageClass = BuiltIn<V1StorageClass>;

/** The status after a successful reconcile. Pure. */
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
  if (status?.phase === 'Lost') return { phase: 'failed', message: 'The storage of this volume was lost.' };
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
      ? { phase: 'waiting', message: 'Storage is created when the volume is first mounted.' }
      : { phase: 'pending' };
  }
  const desiredBytes = parseBytes(spec.resources.requests.storage) ?? 0;
  const present = parseBytes(status.capacity?.storage ?? '') ?? desiredBytes;
  if (present >= desiredBytes) return { phase: 'ready' };
  const resizing = status.conditions?.find(({ type, status: value }) => value === 'True' && /Resiz/.test(type));
  const awaitsMount = resizing?.type === 'FileSystemResizePending';
  return {
    phase: 'resizing',
    ...(awaitsMount && { message: 'The file system is resized when a pod next mounts the volume.' }),
    ...(!awaitsMount && resizing?.message && { message: resizing.message }),
  };
}
