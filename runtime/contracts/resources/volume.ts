import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** How many nodes can mount a volume at the same time. */
export const volumeAccessModes = ['ReadWriteOnce', 'ReadWriteMany'] as const;

export const volumeSpec = z.object({
  /** A quantity such as `10Gi`; it can only grow. */
  size: z.string(),
  /** Default: the cluster's default class. Never changed. */
  storageClass: z.string().optional(),
  /** Never changed. */
  accessMode: z.enum(volumeAccessModes).default('ReadWriteOnce'),
});

export type VolumeSpec = z.infer<typeof volumeSpec>;

/** A volume mounted in a workload's containers: the Volume's name in the same environment, and the path. */
export const volumeMount = z.object({ name: z.string(), path: z.string() });

export type VolumeMount = z.infer<typeof volumeMount>;

export interface VolumeStatus {
  observedGeneration?: number;
  /** `waiting`: storage is created when a pod first mounts the volume, or the class is missing (see `message`). */
  phase?: 'pending' | 'waiting' | 'ready' | 'resizing' | 'failed' | 'deleting';
  message?: string;
  /** The actual size. */
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
