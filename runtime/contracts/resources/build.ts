import { z } from 'zod';
import { hostKeysMax } from '../../domain/public-key.ts';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** One build. Its spec never changes. */
export const buildSpec = z.object({
  /** The App that the image is for. */
  app: z.string(),
  /** The App's namespace; default the build's own. */
  namespace: z.string().optional(),
  /** The deployment that needs the image, and its revision, which is the image's tag. */
  deploymentId: z.uuid().optional(),
  revision: z.int().min(1).optional(),
  /** Time limit from its start, in seconds; default `defaultBuildTimeoutSeconds`. */
  timeoutSeconds: z.int().min(1).optional(),
  /** The digest of the app's last image, whose dependencies this build may use; `<registry>/<namespace>/<app>` has it. */
  cacheDigest: z
    .string()
    .regex(/^sha256:[0-9a-f]{64}$/)
    .optional(),
  source: z.object({
    /** A git repository over https, http or ssh, without credentials: many can read this object. Absent for an upload. */
    url: z.string().optional(),
    /** Whether the source is the folder that was uploaded for the deployment. */
    upload: z.boolean().optional(),
    /** The commit, as 7 to 64 hexadecimal digits; default: the branch's newest. */
    commit: z.string().optional(),
    /** Default: the repository's default branch. */
    branch: z.string().optional(),
    /** The folder to build; default: the repository's root. */
    path: z.string().optional(),
    /** The path of the Dockerfile, relative to that folder. */
    dockerfile: z.string().optional(),
    /** For ssh: the accepted host keys; absent: any key is trusted. */
    hostKeys: z.array(z.string()).min(1).max(hostKeysMax).optional(),
  }),
});

type BuildSpec = z.infer<typeof buildSpec>;

export interface BuildStatus {
  observedGeneration?: number;
  /** The state of the batch Job with the build's name; `succeeded` and `failed` are final. */
  phase?: 'pending' | 'running' | 'succeeded' | 'failed';
  /** For `failed`: why. For `pending`: what it waits for. */
  message?: string;
  startedAt?: string;
  endedAt?: string;
  /** For `succeeded`: the image as nodes pull it, its digest, and its commit, which an uploaded folder has none of. */
  image?: string;
  digest?: string;
  /** What the image takes as an archive. */
  sizeBytes?: number;
  commit?: string;
  /** The first line of the commit's message, and its author. */
  commitMessage?: string;
  commitAuthor?: string;
  conditions?: Condition[];
}

/** A build of an app's image from a git source or an uploaded folder. */
export interface Build extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Build';
  spec: BuildSpec;
  status?: BuildStatus;
}
