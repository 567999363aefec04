import { z } from 'zod';
import { alertEvents, deliveryStates, notificationEvents } from '../../domain/notification.ts';
import { deploymentView } from './apps.ts';
import { timestamp } from './common.ts';

const fields = {
  name: z
    .string()
    .regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'takes up to 63 lower-case letters, digits and hyphens'),
  /** An http or https URL without a user name. */
  url: z.string().max(2000),
  events: z.array(z.enum(notificationEvents)).min(1).max(10),
  apps: z.array(z.string().max(100)).min(1).max(100),
  environments: z.array(z.string().max(100)).min(1).max(100),
};

/** `POST /api/v1/projects/{p}/notifications`; default: all events of all apps in all environments. */
export const notificationCreate = z.strictObject({
  name: fields.name,
  url: fields.url,
  ...z.object(fields).omit({ name: true, url: true }).partial().shape,
});

/** `PATCH …/notifications/{n}`; null: all. Messages missed while the target was disabled are not sent. */
export const notificationUpdate = z
  .strictObject({
    ...fields,
    apps: fields.apps.nullable(),
    environments: fields.environments.nullable(),
    enabled: z.boolean(),
  })
  .partial();

/** `POST /api/v1/platform/notifications`; default: all events. */
export const platformNotificationCreate = z.strictObject({
  name: fields.name,
  url: fields.url,
  events: z.array(z.enum(alertEvents)).min(1).max(10).exactOptional(),
});

/** `PATCH /api/v1/platform/notifications/{n}` */
export const platformNotificationUpdate = z
  .strictObject({ ...platformNotificationCreate.shape, enabled: z.boolean() })
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

/** The signing secret is only returned when it is created. */
export const notificationWithSecret = notificationView.extend({ secret: z.string() });

export const deliveryAttempt = z.object({
  at: timestamp,
  durationMs: z.int(),
  /** The HTTP status of the response; absent if there was none. */
  status: z.int().optional(),
  error: z.string().optional(),
});

export const deliveryView = z.object({
  id: z.uuid(),
  /** The header `webhook-id`, the same for every attempt. */
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
  /** Time of the next attempt; absent during an attempt and after the last one. */
  nextAttemptAt: timestamp.optional(),
});

export type DeliveryView = z.infer<typeof deliveryView>;

/** `GET …/deliveries/{d}`: with all attempts, newest first. */
export const deliveryDetail = deliveryView.extend({ history: z.array(deliveryAttempt) });

/** 202 of a test message and of a redelivery. */
export const deliveryAccepted = z.object({ id: z.uuid(), status: z.enum(deliveryStates), statusUrl: z.string() });

/**
 * The body of a notification. It contains only the first line of the reason, because the rest may be an app's log. Later
 * versions add fields and remove none.
 */
export const deploymentNotification = z.object({
  type: z.enum(notificationEvents),
  /** When the deployment ended. */
  timestamp,
  data: deploymentView.omit({ current: true }).extend({
    project: z.string(),
    environment: z.string(),
    /** The URL of the deployment in the API. */
    statusUrl: z.string(),
  }),
});

export type DeploymentNotification = z.infer<typeof deploymentNotification>;

/** The body of a notification of the platform. Later versions add fields and remove none. */
export const alertNotification = z.object({
  type: z.enum(alertEvents),
  /** When the alert began or ended. */
  timestamp,
  data: z.object({
    alert: z.string(),
    severity: z.string(),
    scope: z.string(),
    summary: z.string(),
    description: z.string().optional(),
    labels: z.record(z.string(), z.string()),
    /** Further texts, such as the quoted `line`, which programs of users write. */
    details: z.record(z.string(), z.string()),
    startsAt: timestamp,
    endsAt: timestamp.optional(),
  }),
});

export type AlertNotification = z.infer<typeof alertNotification>;
