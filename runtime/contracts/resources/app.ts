import { z } from 'zod';
import { hostKeysMax } from '../../domain/public-key.ts';
import type { KubeObject } from '../kubernetes.ts';
import { binding, bindingsMax, type BindingStatus } from './binding.ts';
import { gateSettings, securitySettings, type GateStatus } from './public-route.ts';
import { appCommand, appRunRequest, runRequestsMax, runStopsMax, type Run } from './run.ts';
import { volumeMount } from './volume.ts';

/** The release that should run. Only the rollout step writes it, and only with a higher generation. */
const release = z.object({
  /** The deployment's revision: a write must increase it. */
  generation: z.int().min(1),
  deploymentId: z.uuid(),
  image: z.string(),
  digest: z.string().optional(),
  /** The immutable Secret with the containers' environment; absent without variables. */
  envSecret: z.string().optional(),
  /** The command that must succeed before its pods start. */
  command: appCommand.optional(),
  /**
   * How long each pod keeps serving after its termination starts. Part of the release, because a change makes new pods.
   * Releases without it keep their value (decision 0027).
   */
  lingerSeconds: z.int().min(1).max(60).optional(),
});

export type Release = z.infer<typeof release>;

/** The git source of the app's images, as validated by `domain/git-source.ts`; its credentials are in a Secret of the app. */
const appGitSource = z.object({
  url: z.string(),
  branch: z.string(),
  /** The folder to build; default: the repository's root. */
  path: z.string().optional(),
  /** The path of the Dockerfile, relative to that folder. */
  dockerfile: z.string().optional(),
  /** For ssh: the accepted host keys, each `<type> <base64>`; default: those that the server presents first. */
  hostKeys: z.array(z.string()).min(1).max(hostKeysMax).optional(),
});

export const appSpec = z.object({
  /**
   * The image of the first deployment; empty if the first image is built. After that, `release` decides what runs, and
   * changing this image creates a deployment.
   */
  image: z.string(),
  /** The port that the container listens on. */
  port: z.int().min(1).max(65_535).default(8080),
  replicas: z.int().min(0).max(50).default(1),
  /** The public host; default `<app>--<namespace>.<apps_domain>`. */
  hostname: z.string().optional(),
  /** Additional public hosts. */
  extraHosts: z.array(z.string()).max(10).optional(),
  security: securitySettings.optional(),
  /** An HTTP path that returns 2xx when the container can serve; default: the port accepts connections. */
  healthPath: z.string().startsWith('/').optional(),
  /** The container's limits, as Kubernetes quantities; default: the environment's. */
  cpu: z.string().optional(),
  memory: z.string().optional(),
  /** Variables; a change applies with the next release. */
  env: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(200)
    .optional(),
  /** Its bindings to services; a change applies with the next release. */
  bindings: z.array(binding).max(bindingsMax).optional(),
  volumes: z.array(volumeMount).max(20).optional(),
  gate: gateSettings.optional(),
  /** The command that each new release runs before its pods start, such as a migration; not for rollbacks and restarts. */
  releaseCommand: appCommand.optional(),
  /** If set, images are only built from this source. */
  git: appGitSource.optional(),
  /** Whether a failed deployment rolls the app back to the last good revision; default true. */
  autoRollback: z.boolean().optional(),
  release: release.optional(),
  /** Requested one-off runs that the controller has not created yet. */
  runRequests: z.array(appRunRequest).max(runRequestsMax).optional(),
  /** The ids of runs whose session has ended, until the controller has deleted them. */
  runStops: z.array(z.string()).max(runStopsMax).optional(),
});

export type AppSpec = z.infer<typeof appSpec>;

/** The status of the release in `spec.release`, as observed by the App controller. */
export interface ReleaseStatus {
  generation: number;
  deploymentId: string;
  /** The image of its revision; absent in statuses of older versions of the platform. */
  image?: string;
  /** `available`: all pods of this release are ready, and all older pods are gone. */
  phase: 'progressing' | 'available' | 'failed';
  /** For `failed`: the reason, for people. */
  message?: string;
  /** For `progressing`: how many pods of this release are ready. */
  readyReplicas?: number;
  /** Since when its pods have had a fault that may be temporary. */
  faultSince?: string;
  /** Whether its command has succeeded; absent before that, and without a command. */
  commandSucceeded?: boolean;
  /** The digest of the pod template that the phase is about; a change of settings that makes new pods changes it. */
  template?: string;
}

/** What starts a run of an app: a request, or a release with a command. */
export const appRunTriggers = ['manual', 'release'] as const;

/** A run of an app: a command in a pod of its own. */
export interface AppRun extends Run<(typeof appRunTriggers)[number]> {
  command: string[];
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
  /** The spec's image as last observed, to detect an edit, and the number of edits. */
  image?: string;
  imageEdits?: number;
  bindings?: BindingStatus[];
  /** Newest first; absent without any. */
  runs?: AppRun[];
}

export interface App extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'App';
  spec: AppSpec;
  status?: AppStatus;
}
