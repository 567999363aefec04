import { volumeClaim, type VolumeClaim } from '../../infra/manifests/volume.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, workloadResources } from '../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../runtime/contracts/resources/volume.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import { kindLabel, workloadFinalizer } from '../../runtime/domain/labels.ts';
import { checkVolumeName } from '../../runtime/domain/names.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { parseBytes } from '../../runtime/domain/quantity.ts';
import { ChildError, deleteChild, ensureChild, NotYetError, refOf } from '../../runtime/kube/children.ts';
import type { ControllerDefinition, Key } from '../../runtime/kube/controller.ts';
import type { EventRecorder } from '../../runtime/kube/events.ts';
import { removeFinalizer } from '../../runtime/kube/finalizers.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../runtime/kube/status.ts';
import { usersPhrase, volumeUsers } from '../../runtime/kube/volume-users.ts';
import { createFailureReporter } from './reconcile-failure.ts';
import { observedStatus, type StorageClass } from './volume-status.ts';
import { ensureIdentity } from './workload.ts';

export interface VolumeControllerOptions {
  kube: KubeClient;
  events: Pick<EventRecorder, 'record'>;
  clock: Clock;
}

/**
 * Reconciles a Volume: one PersistentVolumeClaim of the same name, which grows with the Volume. The claim of a deleted
 * Volume, and its data, stay while anything mounts it.
 */
export function volumeController(options: VolumeControllerOptions): ControllerDefinition<Volume> {
  const { kube, events, clock } = options;
  const reportFailure = createFailureReporter(options);

  const reconcileObject = async (object: Stored<Volume>): Promise<void> => {
    const { workload: volume, identity } = await ensureIdentity(kube, object);
    const { name, namespace } = identity;
    const before = await kube.get<VolumeClaim>(kinds.PersistentVolumeClaim, name, namespace);
    // A service that is created later would take the claim for its own data.
    if (!before) checkVolumeName(name);
    const className = before?.spec.storageClassName ?? volume.spec.storageClass;
    const storageClass =
      className === undefined ? undefined : await kube.get<StorageClass>(kinds.StorageClass, className);
    try {
      await ensureChild(kube, volume, volumeClaim(identity, volume.spec), { keep: keepLargerSize });
    } catch (error) {
      throw explained(error, volume, storageClass);
    }
    const claim = await kube.get<VolumeClaim>(kinds.PersistentVolumeClaim, name, namespace);
    await writeStatus<Volume>(kube, volume, observedStatus(volume, claim, storageClass, clock.now()));
  };

  /** Reads the current state instead of the cache, because deleted data cannot be restored. */
  const finalize = async (volume: Stored<Volume>): Promise<void> => {
    const { name, namespace = '' } = volume.metadata;
    const users = (await volumeUsers(kube, namespace))(name);
    if (users.length > 0) {
      const message = `The volume is mounted by ${usersPhrase(users)}; it is deleted when nothing mounts it.`;
      await writeStatus<Volume>(kube, volume, { ...volume.status, phase: 'deleting', message });
      if (volume.status?.message !== message) {
        await events.record(volume, { type: 'Warning', reason: 'VolumeInUse', message });
      }
      return;
    }
    const { apiVersion, kind } = kinds.PersistentVolumeClaim;
    const deleted = await deleteChild(kube, volume, refOf({ apiVersion, kind, metadata: { name, namespace } }));
    if (!deleted) throw new NotYetError('the storage of the volume is still being deleted');
    await removeFinalizer(kube, volume, workloadFinalizer);
  };

  return {
    name: 'Volume',
    kind: kinds.Volume,
    owns: [kinds.PersistentVolumeClaim],
    watches: [
      // The deletion of a volume may wait for a pod that mounts it.
      { kind: kinds.Pod, selection: { labelSelector: kindLabel }, keysOf: deletingVolumes },
      ...Object.values(workloadResources).map((kind) => ({ kind, ignoreStatus: true, keysOf: deletingVolumes })),
      { kind: kinds.StorageClass, keysOf: (_class, volumes) => keysWhere(volumes, isWaiting) },
    ],
    async reconcile({ object: volume }) {
      if (!volume) return;
      if (volume.metadata.deletionTimestamp !== undefined) return finalize(volume);
      try {
        await reconcileObject(volume);
      } catch (error) {
        await reportFailure(kinds.Volume, volume, error);
        throw error;
      }
    },
  };
}

/** The live claim with a larger size: nothing else can change, and the size can only grow. */
function keepLargerSize({ spec }: Stored<VolumeClaim>, desired: VolumeClaim): VolumeClaim {
  const sizes = [spec, desired.spec].map(({ resources }) => resources.requests.storage);
  const [live = '', desiredSize = ''] = sizes;
  const storage = (parseBytes(desiredSize) ?? 0) > (parseBytes(live) ?? 0) ? desiredSize : live;
  return { ...desired, spec: { ...spec, resources: { ...spec.resources, requests: { storage } } } };
}

/** Explains the API server's refusal to expand a claim. */
function explained(error: unknown, { spec }: Stored<Volume>, storageClass: Stored<StorageClass> | undefined): unknown {
  if (!(error instanceof ChildError) || !isKubeError(error.cause) || !storageClass) return error;
  if (storageClass.allowVolumeExpansion === true) return error;
  return new Problem(
    'volume_not_expandable',
    `The storage class "${storageClass.metadata.name}" does not support expansion, so the volume cannot grow to ${spec.size}. Create a larger volume and copy the data.`,
    { cause: error.cause },
  );
}

function deletingVolumes(user: Stored<KubeObject>, volumes: () => Stored<KubeObject>[]): Key[] {
  return keysWhere(
    volumes,
    ({ metadata }) => metadata.deletionTimestamp !== undefined && metadata.namespace === user.metadata.namespace,
  );
}

function isWaiting({ status }: Stored<KubeObject>): boolean {
  return (status as Volume['status'])?.phase === 'waiting';
}

function keysWhere(objects: () => Stored<KubeObject>[], matches: (object: Stored<KubeObject>) => boolean): Key[] {
  return objects()
    .filter(matches)
    .map(({ metadata: { name, namespace } }) => ({ name, ...(namespace !== undefined && { namespace }) }));
}
