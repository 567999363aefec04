import { z } from 'zod';
import { gatePhases } from '../resources/public-route.ts';
import { deploymentState, deploymentTrigger, outOfMemory, timestamp, variables } from './common.ts';
import { gitSourceSet } from './git.ts';
import { podLog } from './logs.ts';
import { securityChange, securityView } from './public-route.ts';
import { mount } from './volumes.ts';

const settings = {
  port: z.int().min(1).max(65_535),
  replicas: z.int().min(0).max(50),
  healthPath: z.string().startsWith('/').max(200),
  /** Limits such as `512Mi` and `500m`; default: the environment's. */
  memory: z.string().max(22),
  cpu: z.string().max(22),
  /** Variables that are no secrets; `${NAME}` refers to another one. */
  env: variables,
  volumes: z.array(mount).max(20),
  /** Whether a deployment that fails takes the app back to the last good revision; default true. */
  autoRollback: z.boolean(),
  /** Further public hosts of the same route. */
  extraHosts: z.array(z.string().max(253)).max(10),
  security: securityChange,
};

/** `POST /api/v1/projects/{p}/apps`: with an image, or with a git source that its images are built from. */
export const appCreate = z.strictObject({
  name: z.string(),
  image: z.string().optional(),
  git: gitSourceSet.optional(),
  hostname: z.string().optional(),
  ...z.object(settings).partial().shape,
  port: settings.port.default(8080),
  replicas: settings.replicas.default(1),
});

/**
 * `PATCH /api/v1/projects/{p}/apps/{a}`: an image makes a deployment (trigger `manual`), the rest changes the app. Null
 * removes; lists and `env` replace what was there, and `env` reaches the pods with the next deployment.
 */
export const appUpdate = z
  .strictObject({
    image: z.string(),
    commit: z.string().max(200),
    ...settings,
    healthPath: settings.healthPath.nullable(),
    memory: settings.memory.nullable(),
    cpu: settings.cpu.nullable(),
  })
  .partial();

export const appView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  /** Empty before the first build of an app that has none. */
  image: z.string(),
  port: z.int(),
  replicas: z.int(),
  /** Of whatever release: during a rollout there may be more than `replicas`. */
  readyReplicas: z.int(),
  /** While a release is rolled out: how many of its own pods are ready. */
  rollout: z.object({ revision: z.int(), readyReplicas: z.int() }).optional(),
  status: z.enum(['pending', 'deploying', 'running', 'failed', 'deleting']),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  healthPath: z.string().optional(),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  volumes: z.array(mount),
  autoRollback: z.boolean(),
  extraHosts: z.array(z.string()),
  security: securityView,
  env: variables,
  /** Whether variables or secrets were changed since the deployment that runs; not told in lists. */
  pendingRestart: z.boolean().optional(),
  gate: z.enum(gatePhases),
  createdAt: timestamp,
});

export type AppView = z.infer<typeof appView>;

/** `POST /api/v1/projects/{p}/apps/{a}/rollback` */
export const rollbackCreate = z.strictObject({
  /** Default: the last earlier one that succeeded. */
  revision: z.int().min(1).optional(),
  /** Whether the environment of its pods, and the variables, port, health path, limits and volumes of its time come back. */
  withConfig: z.boolean().default(false),
});

/** `POST /api/v1/projects/{p}/apps/{a}/promote`: names of two environments of the project. */
export const promotionCreate = z.strictObject({ from: z.string().max(100), to: z.string().max(100) });

/** 202 of everything that deploys. */
export const deploymentAccepted = z.object({
  id: z.uuid(),
  revision: z.int(),
  status: deploymentState,
  statusUrl: z.string(),
});

export type DeploymentAccepted = z.infer<typeof deploymentAccepted>;

/** `GET /api/v1/projects/{p}/deployments/{id}`, and the items of `…/apps/{a}/history`. */
export const deploymentView = z.object({
  id: z.uuid(),
  app: z.string(),
  environment: z.string().optional(),
  /** Absent for one that was skipped. */
  revision: z.int().optional(),
  /** Absent while there is none: of a build that has not ended, and of what was skipped. */
  image: z.string().optional(),
  /** What the image's tag stood for when its pods came up. */
  digest: z.string().optional(),
  commit: z.string().optional(),
  commitMessage: z.string().optional(),
  commitAuthor: z.string().optional(),
  branch: z.string().optional(),
  trigger: deploymentTrigger,
  actor: z.string().optional(),
  status: deploymentState,
  reason: z.string().optional(),
  /** Of a rollback: the revision that it brings back. */
  rollbackOf: z.int().optional(),
  /** Of a rollback: whether the environment and settings of that revision came back, too. */
  withConfig: z.boolean().optional(),
  /** Whether the platform made it because another deployment failed or was cancelled, which `reason` tells. */
  automatic: z.boolean().optional(),
  /** Of one that failed or was cancelled: the revision to which the app went back because of that. */
  rolledBackTo: z.int().optional(),
  current: z.boolean(),
  /** Of a promotion: where the image ran before. */
  promotedFrom: z.object({ environment: z.string(), revision: z.int() }).optional(),
  acceptedAt: timestamp,
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
});

export type DeploymentView = z.infer<typeof deploymentView>;

/** `GET /api/v1/projects/{p}/deployments/{id}/logs` */
export const deploymentLogs = z.object({
  /** Of the image, when it was built for this deployment. */
  build: z.object({ text: z.string(), truncated: z.boolean() }).optional(),
  pods: z.array(podLog),
});
