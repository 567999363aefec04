import type { VolumeView } from '../../runtime/contracts/api/volumes.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Volume } from '../../runtime/contracts/resources/volume.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import type { Environment } from '../../runtime/kube/environments.ts';
import type { VolumeUser } from '../../runtime/kube/volume-users.ts';

/** A volume as the API shows it. */
export function volumeToView(
  { metadata, spec, status }: Stored<Volume>,
  { project, environment }: Pick<Environment, 'project' | 'environment'>,
  mountedBy: readonly VolumeUser[],
): VolumeView {
  const storageClass = status?.storageClass ?? spec.storageClass;
  return {
    // An object created with `kubectl` gets its id from its controller.
    id: metadata.labels?.[idLabel] ?? metadata.uid,
    name: metadata.name,
    project,
    environment,
    size: spec.size,
    ...(status?.capacity !== undefined && { capacity: status.capacity }),
    ...(storageClass !== undefined && { storageClass }),
    isDefaultStorageClass: spec.storageClass === undefined,
    accessMode: spec.accessMode,
    status: metadata.deletionTimestamp === undefined ? (status?.phase ?? 'pending') : 'deleting',
    ...(status?.message !== undefined && { message: status.message }),
    mountedBy: [...mountedBy],
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}
