import { z } from 'zod';
import { languages } from '../../domain/folder-plan.ts';
import { digestsMax, sourceLimits, storedChunksMax } from '../../domain/source-files.ts';

/** `GET /api/v1/projects/{p}/sources`: what the platform can build. */
export const sourceBuilds = z.object({
  /** Whether it builds Dockerfiles. The embedded cluster builds what a folder contains instead, if it knows how. */
  dockerfiles: z.boolean(),
  /** What a folder without a Dockerfile may contain: a cluster needs a base image for each language. */
  languages: z.array(z.enum(languages)).optional(),
});

/** The SHA-256 of a chunk. */
const digest = z.string().regex(/^[0-9a-f]{64}$/);

/** `POST /api/v1/projects/{p}/sources/missing`: which chunks the project does not have. */
export const chunksWanted = z.strictObject({ digests: z.array(digest).max(digestsMax) });

export const chunksMissing = z.object({ missing: z.array(digest) });

/** `POST /api/v1/projects/{p}/sources/chunks`: the content of chunks in base64, each up to 1 MiB. */
export const chunksSent = z.strictObject({
  chunks: z
    .array(z.string().regex(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/))
    .min(1)
    .max(storedChunksMax),
});

/** The digests, in the order of the chunks. */
export const chunksStored = z.object({ digests: z.array(digest) });

/** `POST /api/v1/projects/{p}/apps/{a}/source/builds`: builds the app from a folder whose chunks the project has. */
export const sourceBuildCreate = z.strictObject({
  files: z
    .array(
      z.strictObject({
        /** The path in the folder, with `/`; without `..`, backslashes and control characters. */
        path: z.string().max(sourceLimits.pathBytes),
        /** `program`: a file that may be executed. `link`: a symbolic link, which may not leave the folder. */
        kind: z.enum(['file', 'program', 'link']).default('file'),
        /** The digests of its content, in chunks of 1 MiB. */
        chunks: z
          .array(digest)
          .max(sourceLimits.bytes / (1024 * 1024))
          .default([]),
        size: z.int().min(0).max(sourceLimits.bytes).default(0),
        /** Where a link leads, relative to its own folder. */
        target: z.string().max(sourceLimits.pathBytes).optional(),
      }),
    )
    .min(1)
    .max(sourceLimits.files),
  /** The Dockerfile, relative to the folder; default `Dockerfile`, or without one, what the folder contains. */
  dockerfile: z.string().max(400).optional(),
  /** The commit that the folder is a checkout of. */
  commit: z
    .string()
    .regex(/^(?:[0-9a-f]{40}|[0-9a-f]{64})$/)
    .optional(),
  /** Whether the folder differs from that commit. */
  dirty: z.boolean().default(false),
  commitMessage: z.string().max(200).optional(),
  branch: z.string().max(244).optional(),
});
