import { z } from 'zod';
import { hostKeysMax } from '../../domain/ssh-keys.ts';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** One build; what it says is never changed. */
export const buildSpec = z.object({
  /** The App that the image is for. */
  app: z.string(),
  /** The App's namespace; default the build's own. */
  namespace: z.string().optional(),
  /** The deployment that waits for the image, and its revision, which becomes the image's tag. */
  deploymentId: z.uuid().optional(),
  revision: z.int().min(1).optional(),
  /** How long it may take from its start, in seconds; default `defaultBuildTimeoutSeconds`. */
  timeoutSeconds: z.int().min(1).optional(),
  source: z.object({
    /** A git repository, over https, http or ssh. No credentials: they do not belong into an object that many may read. */
    url: z.string(),
    /** The commit, as 7 to 64 hexadecimal digits; the newest of the branch when absent. */
    commit: z.string().optional(),
    /** Default the repository's own. */
    branch: z.string().optional(),
    /** The folder that is built; default the repository's root. */
    path: z.string().optional(),
    /** The Dockerfile, seen from that folder. */
    dockerfile: z.string().optional(),
    /** Over ssh: the public keys of the server, of which it has to prove one; absent: whatever it shows is believed. */
    hostKeys: z.array(z.string()).min(1).max(hostKeysMax).optional(),
  }),
});

export type BuildSpec = z.infer<typeof buildSpec>;

export interface BuildStatus {
  observedGeneration?: number;
  /** As the batch Job of the build's name has it; `succeeded` and `failed` stay, whatever becomes of that. */
  phase?: 'pending' | 'running' | 'succeeded' | 'failed';
  /** For `failed`: why. For `pending`: what it waits for. */
  message?: string;
  startedAt?: string;
  endedAt?: string;
  /** For `succeeded`: what was made, as nodes pull it and by its digest, and of which commit. */
  image?: string;
  digest?: string;
  commit?: string;
  /** Of that commit: the first line of its message, and who wrote it. */
  commitMessage?: string;
  commitAuthor?: string;
  conditions?: Condition[];
}

/** The way from a git source to an image of an app. */
export interface Build extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Build';
  spec: BuildSpec;
  status?: BuildStatus;
}
