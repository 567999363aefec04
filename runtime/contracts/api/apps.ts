import { z } from 'zod';
import { appCommand } from '../resources/run.ts';
import { gatePhases } from '../resources/public-route.ts';
import { bindingSummary, newBinding } from './bindings.ts';
import { deploymentState, deploymentTrigger, outOfMemory, timestamp, variables } from './common.ts';
import { gitSourceSet } from './git.ts';
import { podLog } from './logs.ts';
import { securityChange, securityView } from './public-route.ts';
import { mount } from './volumes.ts';

/** Maximum number of additional hosts of an app. */
export const extraHostsMax = 10;
const extraHosts = z.array(z.string().max(253)).max(extraHostsMax);

const settings = {
  port: z.int().min(1).max(65_535),
  replicas: z.int().min(0).max(50),
  healthPath: z.string().startsWith('/').max(200),
  /** A command that each new release runs before its pods start, such as a migration; a failure stops the deployment. */
  releaseCommand: appCommand,
  /** Limits such as `512Mi` and `500m`; default: the environment's. */
  memory: z.string().max(22),
  cpu: z.string().max(22),
  /** Variables; `${NAME}` refers to another variable or a secret. */
  env: variables,
  volumes: z.array(mount).max(20),
  /** Whether a failed deployment rolls the app back to the last good revision; default true. */
  autoRollback: z.boolean(),
  /** Additional public hosts. */
  extraHosts,
  security: securityChange,
};

/** `POST /api/v1/projects/{p}/apps`: with an image, the git source that images are built from, or for an upload. */
export const appCreate = z.strictObject({
  name: z.string(),
  image: z.string().optional(),
  git: gitSourceSet.optional(),
  /** Creates an app that is first deployed when a folder is uploaded (`POST …/source/builds`). */
  upload: z.literal(true).optional(),
  hostname: z.string().optional(),
  /** Services to bind it to; its first deployment waits for them. */
  bindings: z.array(newBinding).max(20).optional(),
  /** Its secrets, which the first deployment gets. */
  secrets: z.record(z.string().max(200), z.string().max(65_536)).optional(),
  ...z.object(settings).partial().shape,
  port: settings.port.default(8080),
  replicas: settings.replicas.default(1),
});

/** Settings as the caller of a change saw them; null for one that was not set. */
const settingsSeen = z
  .strictObject({
    port: settings.port,
    replicas: settings.replicas,
    healthPath: settings.healthPath.nullable(),
    releaseCommand: settings.releaseCommand.nullable(),
    memory: settings.memory.nullable(),
    cpu: settings.cpu.nullable(),
    volumes: settings.volumes,
    autoRollback: settings.autoRollback,
    security: securityView,
  })
  .partial();

export type SettingsSeen = z.output<typeof settingsSeen>;

/**
 * `PATCH /api/v1/projects/{p}/apps/{a}`: an image creates a deployment (trigger `manual`), other fields change the app. Null
 * removes a field. Lists and `env` are replaced as a whole, and `env` applies from the next deployment.
 */
export const appUpdate = z
  .strictObject({
    image: z.string(),
    commit: z.string().max(200),
    ...settings,
    healthPath: settings.healthPath.nullable(),
    releaseCommand: settings.releaseCommand.nullable(),
    memory: settings.memory.nullable(),
    cpu: settings.cpu.nullable(),
    /** What the settings have to be before the change; 409 `conflict` if another request has changed one of them. */
    replaces: settingsSeen,
  })
  .partial();

/** `PATCH /api/v1/projects/{p}/apps/{a}/hosts`: additional hosts to add and to remove; what others add or remove at the same time stays. */
export const hostsChange = z.strictObject({ add: extraHosts, remove: extraHosts }).partial();

export const appView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  /** Empty until the first build. */
  image: z.string(),
  port: z.int(),
  replicas: z.int(),
  /** Ready pods of all releases: more than `replicas` during a rollout. */
  readyReplicas: z.int(),
  /** During a rollout: ready pods of the new release. */
  rollout: z.object({ revision: z.int(), readyReplicas: z.int() }).optional(),
  /** `stopped`: the app runs no pods because it is scaled to 0. */
  status: z.enum(['pending', 'deploying', 'running', 'stopped', 'failed', 'deleting']),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  healthPath: z.string().optional(),
  releaseCommand: z.array(z.string()).optional(),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  volumes: z.array(mount),
  autoRollback: z.boolean(),
  extraHosts: z.array(z.string()),
  security: securityView,
  env: variables,
  bindings: z.array(bindingSummary).optional(),
  /** Whether variables, secrets or bindings have changed since the current deployment; absent in lists. */
  pendingRestart: z.boolean().optional(),
  gate: z.enum(gatePhases),
  createdAt: timestamp,
});

export type AppView = z.infer<typeof appView>;

/** `POST /api/v1/projects/{p}/apps/{a}/rollback` */
export const rollbackCreate = z.strictObject({
  /** Default: the last successful revision before the current one. */
  revision: z.int().min(1).optional(),
  /** Whether to also restore the pods' environment, variables, port, health path, limits and volumes of that revision. */
  withConfig: z.boolean().default(false),
});

/** `POST /api/v1/projects/{p}/apps/{a}/promote`: the names of two environments of the project. */
export const promotionCreate = z.strictObject({
  from: z.string().max(100),
  to: z.string().max(100),
  /** The only revision that may be promoted; 409 `conflict` if the app runs another one in `from`. Default: the one that it runs. */
  revision: z.int().min(1).optional(),
  /** Whether to create the app in `to`, with its settings in `from`, if it does not exist there. */
  create: z.boolean().default(false),
  /** Secrets of the new app, whose values are never copied. Only with `create`. */
  secrets: z.record(z.string().max(200), z.string().max(65_536)).optional(),
});

/** 201 of a promotion that created the app; its first deployment follows. */
export const promotionCreated = z.object({
  app: appView,
  /** What belongs to the source's environment and has to be set up in the target's. */
  notCopied: z.object({
    /** Names of secrets that have no value in the new app. */
    secrets: z.array(z.string()),
    hosts: z.array(z.string()),
    /** Volumes that do not exist in the target's environment. */
    volumes: z.array(mount),
    /** The repository that the source is built from. */
    git: z.string().optional(),
  }),
});

export type PromotionCreated = z.infer<typeof promotionCreated>;

/** 202 of every request that deploys. */
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
  /** Absent for a skipped deployment. */
  revision: z.int().optional(),
  /** Absent until the build succeeds, and for a skipped deployment. */
  image: z.string().optional(),
  /** The image that the tag referred to when the pods started. */
  digest: z.string().optional(),
  commit: z.string().optional(),
  commitMessage: z.string().optional(),
  commitAuthor: z.string().optional(),
  branch: z.string().optional(),
  trigger: deploymentTrigger,
  actor: z.string().optional(),
  status: deploymentState,
  reason: z.string().optional(),
  /** For a rollback: the revision that it goes back to. */
  rollbackOf: z.int().optional(),
  /** For a rollback: whether it also restored the environment and settings of that revision. */
  withConfig: z.boolean().optional(),
  /** Whether the platform created it because another deployment failed or was cancelled; see `reason`. */
  automatic: z.boolean().optional(),
  /** For a failed or cancelled deployment: the revision that the app went back to. */
  rolledBackTo: z.int().optional(),
  current: z.boolean(),
  /** Whether its image was deleted, or is being deleted: nothing can roll back to it. */
  imageDeleted: z.boolean().optional(),
  /** For a promotion: where the image ran before. */
  promotedFrom: z.object({ environment: z.string(), revision: z.int() }).optional(),
  acceptedAt: timestamp,
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
});

export type DeploymentView = z.infer<typeof deploymentView>;

/** `GET /api/v1/projects/{p}/deployments/{id}/logs` */
export const deploymentLogs = z.object({
  /** The output of the build, if the image was built for this deployment. */
  build: z.object({ text: z.string(), truncated: z.boolean() }).optional(),
  pods: z.array(podLog),
});
