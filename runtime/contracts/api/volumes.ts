import { z } from 'zod';
import { volumeAccessModes } from '../resources/volume.ts';
import { timestamp } from './common.ts';

/** A volume mounted in a workload's containers. */
export const mount = z.strictObject({ name: z.string().max(100), path: z.string().max(500) });

/** `POST /api/v1/projects/{p}/volumes` */
export const volumeCreate = z.strictObject({
  name: z.string(),
  /** A quantity such as `10Gi`. */
  size: z.string().max(22),
  /** Default: the cluster's default storage class. */
  storageClass: z.string().max(253).optional(),
  accessMode: z.enum(volumeAccessModes).default('ReadWriteOnce'),
});

/** `PATCH /api/v1/projects/{p}/volumes/{v}`: a volume can only grow. */
export const volumeUpdate = z.strictObject({ size: z.string().max(22) });

export const volumeView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  /** The requested size. */
  size: z.string(),
  /** The actual size. */
  capacity: z.string().optional(),
  storageClass: z.string().optional(),
  /** Whether the cluster chose the storage class, because the volume was created without one. */
  isDefaultStorageClass: z.boolean().optional(),
  accessMode: z.enum(volumeAccessModes),
  status: z.enum(['pending', 'waiting', 'ready', 'resizing', 'failed', 'deleting']),
  message: z.string().optional(),
  mountedBy: z.array(z.object({ kind: z.string(), name: z.string() })),
  createdAt: timestamp,
});

export type VolumeView = z.infer<typeof volumeView>;
