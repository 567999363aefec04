import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import type { PersistentVolumeClaim } from './objects.ts';

/**
 * Binds every claim. Its volume is a folder on this machine, created when a pod mounts it and limited only by the disk.
 */
export function persistentVolumeClaimController(kube: KubeClient): ControllerDefinition<PersistentVolumeClaim> {
  return {
    name: 'persistent-volume-claim',
    kind: kinds.PersistentVolumeClaim,
    async reconcile({ object }) {
      if (!object || object.metadata.deletionTimestamp !== undefined) return;
      const { accessModes = ['ReadWriteOnce'], resources, volumeName } = object.spec;
      if (volumeName === undefined) {
        // A bound claim names its volume, which the platform reads.
        await kube.replace({ ...object, spec: { ...object.spec, volumeName: `pvc-${object.metadata.uid}` } });
        return;
      }
      const storage = resources?.requests?.storage;
      await writeStatus(kube, object, {
        phase: 'Bound',
        accessModes,
        ...(storage !== undefined && { capacity: { storage } }),
      });
    },
  };
}
