import { z } from 'zod';
import { gatePhases } from '../resources/app.ts';
import { deploymentState, deploymentTrigger, timestamp } from './common.ts';

/** `POST /api/v1/projects/{p}/apps` */
export const appCreate = z.strictObject({
  name: z.string(),
  image: z.string(),
  port: z.int().min(1).max(65_535).default(8080),
  replicas: z.int().min(0).max(50).default(1),
  hostname: z.string().optional(),
  healthPath: z.string().startsWith('/').max(200).optional(),
});

/** `PATCH /api/v1/projects/{p}/apps/{a}`: an image makes a deployment (trigger `manual`), the rest changes the app. */
export const appUpdate = z
  .strictObject({
    image: z.string(),
    commit: z.string().max(200),
    replicas: z.int().min(0).max(50),
  })
  .partial();

export const appView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  image: z.string(),
  port: z.int(),
  replicas: z.int(),
  readyReplicas: z.int(),
  status: z.enum(['pending', 'deploying', 'running', 'failed', 'deleting']),
  message: z.string().optional(),
  url: z.string().optional(),
  gate: z.enum(gatePhases),
  createdAt: timestamp,
});

export type AppView = z.infer<typeof appView>;

/** `PUT /api/v1/projects/{p}/apps/{a}/gate` */
export const gateUpdate = z.strictObject({ enabled: z.boolean() });
/** `PUT` and `GET …/gate` */
export const gateView = z.object({
  gate: z.enum(gatePhases),
  /** When the phase began; absent for an app that never had a gate, and until the controller has seen the wish. */
  since: timestamp.optional(),
  /** What the platform last saw, and for one that gets no further what to do. */
  message: z.string().optional(),
});

export type GateView = z.infer<typeof gateView>;

/** `PUT /api/v1/projects/{p}/apps/{a}/webhook` and `GET`: the token is shown on both (spec.md §4.7). */
export const webhookView = z.object({
  enabled: z.boolean(),
  url: z.string().optional(),
  token: z.string().optional(),
  version: z.int().optional(),
  updatedAt: timestamp.optional(),
});

/** `POST /api/v1/webhook/{namespace}/{app}` (spec.md §4.3); other fields of the sender are ignored. */
export const webhookDeploy = z.object({
  image: z.string().optional(),
  commit: z.string().max(200).optional(),
});

/** `POST /api/v1/projects/{p}/apps/{a}/rollback` */
export const rollbackCreate = z.strictObject({ revision: z.int().min(1).optional() });

/** 202 of everything that deploys. */
export const deploymentAccepted = z.object({
  id: z.uuid(),
  revision: z.int(),
  status: deploymentState,
  statusUrl: z.string(),
});

/** `GET /api/v1/projects/{p}/deployments/{id}`, and the items of `…/apps/{a}/history`. */
export const deploymentView = z.object({
  id: z.uuid(),
  app: z.string(),
  revision: z.int(),
  image: z.string(),
  commit: z.string().optional(),
  trigger: deploymentTrigger,
  actor: z.string().optional(),
  status: deploymentState,
  reason: z.string().optional(),
  rollbackOf: z.int().optional(),
  current: z.boolean(),
  acceptedAt: timestamp,
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
});

export type DeploymentView = z.infer<typeof deploymentView>;
