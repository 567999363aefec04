import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** One build; what it says is never changed. */
export const buildSpec = z.object({
  /** The App of the same environment that the image is for. */
  app: z.string(),
  source: z.object({
    /** A git repository, over https, http or ssh. No credentials: they do not belong into an object that many may read. */
    url: z.string(),
    /** The commit, as 7 to 64 hexadecimal digits; the newest of the default branch when absent. */
    commit: z.string().optional(),
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
  conditions?: Condition[];
}

/** The way from a git source to an image of an app. */
export interface Build extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Build';
  spec: BuildSpec;
  status?: BuildStatus;
}
