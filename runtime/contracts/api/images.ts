import { z } from 'zod';
import { keptImagesRange } from '../../domain/platform-profile.ts';
import { timestamp } from './common.ts';

const revision = z.object({ environment: z.string(), app: z.string(), revision: z.int() });

/** An image that a build made: an item of `GET /api/v1/projects/{p}/images`. */
export const imageView = z.object({
  id: z.uuid(),
  /** `<app>:<tag>`, which names the image in its environment. */
  name: z.string(),
  /** The full name, as nodes pull it. */
  image: z.string(),
  digest: z.string(),
  app: z.string(),
  project: z.string(),
  environment: z.string(),
  /** The newest revisions that name it, at most 20, in all environments of the project. */
  revisions: z.array(revision),
  /** What the image takes as an archive, with its base image. Absent for images of older builds. */
  sizeBytes: z.number().optional(),
  /** Whether an app's current or newest deployment, or one in progress, needs it. */
  inUse: z.boolean(),
  usedBy: revision.optional(),
  /** `deleting` also for an image whose deletion was requested and has not begun. */
  status: z.enum(['stored', 'deleting', 'deleted']),
  /** Why the last deletion failed: a stable code and a message. A message alone says what a deletion waits for. */
  problem: z.string().optional(),
  message: z.string().optional(),
  builtAt: timestamp,
});

export type ImageView = z.infer<typeof imageView>;

/** `POST /api/v1/projects/{p}/images/prune` */
export const imagePrune = z.strictObject({
  /** How many images of each app's rollback history to keep; default: as many as the clean-up keeps. */
  keep: z.int().min(keptImagesRange.min).max(keptImagesRange.max).optional(),
  /** Only images of this app. */
  app: z.string().min(1).max(100).optional(),
  /** Whether to only list the images. */
  dryRun: z.boolean().default(false),
});

/** The images whose deletion was requested, or would be. */
export const imagesPruned = z.object({
  keep: z.int(),
  images: z.array(imageView),
  /** Whether there are further images; call again. */
  more: z.boolean(),
});
