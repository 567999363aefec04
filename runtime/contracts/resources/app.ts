import { z } from 'zod';
import { hostKeysMax } from '../../domain/ssh-keys.ts';
import type { KubeObject } from '../kubernetes.ts';
import { gateSettings, securitySettings, type GateStatus } from './public-route.ts';
import { volumeMount } from './volume.ts';

/** What an app runs now; only the rollout step writes it, and only with a higher generation (design.md §2, §4). */
export const release = z.object({
  /** The deployment's revision number: the fence of every write. */
  generation: z.int().min(1),
  deploymentId: z.uuid(),
  image: z.string(),
  digest: z.string().optional(),
  /** The immutable Secret with the environment that the containers get; none when there are no variables. */
  envSecret: z.string().optional(),
  /**
   * How long each pod serves on after it is told to go. A part of the release, since another one makes new pods: those of
   * releases from before it was here keep what they have (decision 0027).
   */
  lingerSeconds: z.int().min(1).max(60).optional(),
});

export type Release = z.infer<typeof release>;

/** Where the app's images are built from; credentials lie in a Secret of the app (`domain/git-source.ts` has the grammar). */
export const appGitSource = z.object({
  url: z.string(),
  branch: z.string(),
  /** The folder of the repository that is built; default its root. */
  path: z.string().optional(),
  /** The Dockerfile, seen from that folder. */
  dockerfile: z.string().optional(),
  /** Over ssh: the public keys of the server, `<type> <base64>` each; without them those that it first showed count. */
  hostKeys: z.array(z.string()).min(1).max(hostKeysMax).optional(),
});

export const appSpec = z.object({
  /**
   * The image of the first deployment; empty for an app whose first one is built. After that `release` rules, and a change
   * of this one is another deployment.
   */
  image: z.string(),
  /** The port on which the container listens. */
  port: z.int().min(1).max(65_535).default(8080),
  replicas: z.int().min(0).max(50).default(1),
  /** Another public host than the default `<app>--<namespace>.<apps_domain>`. */
  hostname: z.string().optional(),
  /** Further public hosts of the same route. */
  extraHosts: z.array(z.string()).max(10).optional(),
  security: securitySettings.optional(),
  /** An HTTP path that answers 2xx once the container can serve; without it readiness is a TCP connect. */
  healthPath: z.string().startsWith('/').optional(),
  /** The container's limits, as Kubernetes quantities; the environment's defaults when absent. */
  cpu: z.string().optional(),
  memory: z.string().optional(),
  /** Variables that are no secrets; what they make with the secrets reaches pods with the next release. */
  env: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(200)
    .optional(),
  volumes: z.array(volumeMount).max(20).optional(),
  gate: gateSettings.optional(),
  /** With it the app's images are built, and none is taken from elsewhere. */
  git: appGitSource.optional(),
  /** Whether a deployment that fails takes the app back to the last good revision; default true. */
  autoRollback: z.boolean().optional(),
  release: release.optional(),
});

export type AppSpec = z.infer<typeof appSpec>;

/** How far the release in `spec.release` has come, as the App controller sees the pods. */
export interface ReleaseStatus {
  generation: number;
  deploymentId: string;
  /** The image of its revision; absent from older versions of the platform. */
  image?: string;
  /** `available`: every pod of this release is ready and none of an older one is left. */
  phase: 'progressing' | 'available' | 'failed';
  /** For `failed`: the reason that a person needs. */
  message?: string;
  /** While it is `progressing`: how many of its own pods are ready. */
  readyReplicas?: number;
  /** Since when its pods have been seen with a fault that may still come right. */
  faultSince?: string;
  /** Of the pods that the phase is about: another one after a change of settings that makes new pods. */
  template?: string;
}

export interface AppStatus extends GateStatus {
  observedGeneration?: number;
  phase?: 'pending' | 'deploying' | 'running' | 'failed' | 'deleting';
  /** For `failed`: what to do. */
  message?: string;
  host?: string;
  url?: string;
  replicas?: number;
  readyReplicas?: number;
  release?: ReleaseStatus;
  /** The spec's image as it was last seen, so that an edit of it is noticed, and how many edits there were. */
  image?: string;
  imageEdits?: number;
}

export interface App extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'App';
  spec: AppSpec;
  status?: AppStatus;
}
