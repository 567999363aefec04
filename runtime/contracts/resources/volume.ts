import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** How many nodes may have a volume mounted at once. */
export const volumeAccessModes = ['ReadWriteOnce', 'ReadWriteMany'] as const;

export const volumeSpec = z.object({
  /** A quantity such as `10Gi`; it only ever grows. */
  size: z.string(),
  /** The cluster's default class when absent. Never changed. */
  storageClass: z.string().optional(),
  /** Never changed. */
  accessMode: z.enum(volumeAccessModes).default('ReadWriteOnce'),
});

export type VolumeSpec = z.infer<typeof volumeSpec>;

/** A volume in a workload's containers: the Volume's name in the same environment, and where it appears. */
export const volumeMount = z.object({ name: z.string(), path: z.string() });

export type VolumeMount = z.infer<typeof volumeMount>;

export interface VolumeStatus {
  observedGeneration?: number;
  /** `waiting`: the storage is made once a pod mounts it, or a class is missing (`message` says which). */
  phase?: 'pending' | 'waiting' | 'ready' | 'resizing' | 'failed' | 'deleting';
  message?: string;
  /** What the storage really has. */
  capacity?: string;
  storageClass?: string;
  conditions?: Condition[];
}

export interface Volume extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Volume';
  spec: VolumeSpec;
  status?: VolumeStatus;
}
