import type { V1PersistentVolumeClaim } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import type { VolumeMount, VolumeSpec } from '../../runtime/contracts/resources/volume.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel, kindLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { canonicalBytes } from '../../runtime/domain/quantity.ts';

/** https://kubernetes.io/docs/concepts/storage/persistent-volumes/ */
export type VolumeClaim = BuiltIn<V1PersistentVolumeClaim> & {
  spec: Json<NonNullable<V1PersistentVolumeClaim['spec']>> & { resources: { requests: { storage: string } } };
};

/** The claim of a volume, which has the volume's name. Pure. */
export function volumeClaim(
  { id, name, namespace }: { id: Id; name: string; namespace: string },
  spec: VolumeSpec,
): VolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace, labels: { ...managedLabels(), [kindLabel]: 'Volume', [idLabel]: id } },
    spec: {
      accessModes: [spec.accessMode],
      resources: { requests: { storage: canonicalBytes(spec.size) } },
      // Without it, the API server sets the cluster's default class.
      ...(spec.storageClass !== undefined && { storageClassName: spec.storageClass }),
    },
  };
}

/** The `volumes` of a pod and the `volumeMounts` of its container for these mounts. Pure. */
export function mountedVolumes(mounts: readonly VolumeMount[] = []): {
  volumes: { name: string; persistentVolumeClaim: { claimName: string } }[];
  volumeMounts: { name: string; mountPath: string }[];
} {
  // The prefix avoids collisions with the platform's own volumes, such as `tmp`. One volume may have several mounts.
  const partName = (volume: string) => `volume-${volume}`;
  return {
    volumes: [...new Set(mounts.map(({ name }) => name))].map((name) => ({
      name: partName(name),
      persistentVolumeClaim: { claimName: name },
    })),
    volumeMounts: mounts.map(({ name, path }) => ({ name: partName(name), mountPath: path })),
  };
}
