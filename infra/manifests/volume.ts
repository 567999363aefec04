import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { VolumeMount, VolumeSpec } from '../../runtime/contracts/resources/volume.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { idLabel, kindLabel, managedLabels } from '../../runtime/domain/labels.ts';
import { canonicalBytes } from '../../runtime/domain/quantity.ts';

/** What the platform writes and reads of a claim. https://kubernetes.io/docs/concepts/storage/persistent-volumes/ */
export interface VolumeClaim extends KubeObject {
  spec: {
    accessModes: string[];
    resources: { requests: { storage: string } };
    storageClassName?: string;
    volumeName?: string;
  };
  status?: {
    phase?: 'Pending' | 'Bound' | 'Lost';
    capacity?: { storage?: string };
    conditions?: { type: string; status: string; message?: string }[];
  };
}

/** The claim of a volume, named as the volume. Pure. */
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
      // Absent, the API server fills in the cluster's default class.
      ...(spec.storageClass !== undefined && { storageClassName: spec.storageClass }),
    },
  };
}

/** The parts of a pod that mount volumes: `volumes` of the pod and `volumeMounts` of its container. Pure. */
export function mountedVolumes(mounts: readonly VolumeMount[] = []): {
  volumes: { name: string; persistentVolumeClaim: { claimName: string } }[];
  volumeMounts: { name: string; mountPath: string }[];
} {
  // A prefix keeps them apart from the platform's own, such as `tmp`; one volume may be mounted at several paths.
  const partName = (volume: string) => `volume-${volume}`;
  return {
    volumes: [...new Set(mounts.map(({ name }) => name))].map((name) => ({
      name: partName(name),
      persistentVolumeClaim: { claimName: name },
    })),
    volumeMounts: mounts.map(({ name, path }) => ({ name: partName(name), mountPath: path })),
  };
}
