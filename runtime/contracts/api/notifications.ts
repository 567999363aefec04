import { z } from 'zod';
import { deliveryStates, notificationEvents } from '../../domain/notification.ts';
import { deploymentView } from './apps.ts';
import { timestamp } from './common.ts';

const fields = {
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'takes lower-case letters, digits and hyphens, 63 at most'),
  /** Where to, over http or https, without a user in it. */
  url: z.string().max(2000),
  events: z.array(z.enum(notificationEvents)).min(1).max(10),
  apps: z.array(z.string().max(100)).min(1).max(100),
  environments: z.array(z.string().max(100)).min(1).max(100),
};

/** `POST /api/v1/projects/{p}/notifications`; default: every event of every app in every environment. */
export const notificationCreate = z.strictObject({
  name: fields.name,
  url: fields.url,
  ...z.object(fields).omit({ name: true, url: true }).partial().shape,
});

/** `PATCH …/notifications/{n}`; null: all. Enabling one that was disabled brings nothing that was missed meanwhile. */
export const notificationUpdate = z
  .strictObject({
    ...fields,
    apps: fields.apps.nullable(),
    environments: fields.environments.nullable(),
    enabled: z.boolean(),
  })
  .partial();

export const notificationView = z.object({
  id: z.uuid(),
  name: z.string(),
  url: z.string(),
  events: z.array(z.string()),
  /** Absent: all. */
  apps: z.array(z.string()).optional(),
  environments: z.array(z.string()).optional(),
  enabled: z.boolean(),
  /** Why the platform disabled it. */
  disabledReason: z.string().optional(),
  createdAt: timestamp,
  updatedAt: timestamp,
});

export type NotificationView = z.infer<typeof notificationView>;

/** What signs the messages is shown when it is made, and never again. */
export const notificationWithSecret = notificationView.extend({ secret: z.string() });

export const deliveryAttempt = z.object({
  at: timestamp,
  durationMs: z.int(),
  /** Of the answer; absent when there was none. */
  status: z.int().optional(),
  error: z.string().optional(),
});

export const deliveryView = z.object({
  id: z.uuid(),
  /** The header `webhook-id`, the same at every attempt. */
  webhookId: z.string(),
  type: z.string(),
  status: z.enum(deliveryStates),
  deploymentId: z.uuid().optional(),
  app: z.string().optional(),
  environment: z.string().optional(),
  revision: z.int().optional(),
  createdAt: timestamp,
  endedAt: timestamp.optional(),
  attempts: z.int(),
  lastAttempt: deliveryAttempt.optional(),
  /** When it is tried next; absent once it has ended, and while an attempt is under way. */
  nextAttemptAt: timestamp.optional(),
});

export type DeliveryView = z.infer<typeof deliveryView>;

/** `GET …/deliveries/{d}`: with every attempt, the newest first. */
export const deliveryDetail = deliveryView.extend({ history: z.array(deliveryAttempt) });

/** 202 of a test and of a redelivery. */
export const deliveryAccepted = z.object({ id: z.uuid(), status: z.enum(deliveryStates), statusUrl: z.string() });

/**
 * The body of a notification of a deployment. Of the reason only its first line: what follows may be an app's log. Fields
 * are added, never taken away.
 */
export const deploymentNotification = z.object({
  type: z.enum(notificationEvents),
  /** When the deployment ended. */
  timestamp,
  data: deploymentView.omit({ current: true }).extend({
    project: z.string(),
    environment: z.string(),
    /** Where the API shows the deployment to whoever may see it. */
    statusUrl: z.string(),
  }),
});

export type DeploymentNotification = z.infer<typeof deploymentNotification>;
