import { z } from 'zod';
import { deploymentState, timestamp } from './common.ts';

const filters = {
  /** The only branch that pushes deploy; null: the branch of the app's git source. */
  branch: z.string().min(1).max(250).nullable(),
  /** Patterns of tags that a registry may deploy, such as `v*,release-*`; null: all. */
  tags: z.string().min(1).max(250).nullable(),
  /** Whether the webhook has a secret URL, for senders that do not sign. True creates a new one; the old one stops working at once. */
  secretUrl: z.boolean(),
};

/** The maximum grace period of a replaced token, in seconds: 30 days. */
export const graceLimitSeconds = 2_592_000;

/** `PUT /api/v1/projects/{p}/apps/{a}/webhook`: enables with a new token. */
export const webhookEnable = z
  .strictObject({
    /** How long the current token stays valid, in seconds; default 0. */
    graceSeconds: z.int().min(0).max(graceLimitSeconds),
    /** The only version of the token that may be replaced, as the webhook shows it; 0 if it was never enabled. Default: any. */
    replaces: z.int().min(0),
    ...filters,
  })
  .partial();

/** `PATCH …/webhook`: changes the settings, not the token. */
export const webhookChange = z.strictObject(filters).partial();

/** The response of `PUT`, `PATCH` and `GET …/webhook`, with the token; docs/reference/webhook.md#token. */
export const webhookView = z.object({
  enabled: z.boolean(),
  url: z.string().optional(),
  token: z.string().optional(),
  /** The key for senders that sign with Standard Webhooks (`whsec_…`), derived from the token. */
  signingSecret: z.string().optional(),
  /** When the previous token stops being valid. */
  graceUntil: timestamp.optional(),
  version: z.int().optional(),
  branch: z.string().optional(),
  tags: z.string().optional(),
  /** Whether the webhook has a secret URL. */
  hasSecretUrl: z.boolean().optional(),
  /** The secret URL; only returned when it is created. */
  secretUrl: z.string().optional(),
  updatedAt: timestamp.optional(),
});

export type WebhookView = z.infer<typeof webhookView>;

/** `POST /api/v1/webhook/{namespace}/{app}` in the platform's own form; other fields are ignored. docs/reference/webhook.md#body */
export const webhookDeploy = z.object({
  image: z.string().optional(),
  commit: z.string().max(200).optional(),
  /** For the history. */
  commitMessage: z.string().max(10_000).optional(),
  commitAuthor: z.string().max(500).optional(),
  branch: z.string().max(250).optional(),
});

/** Maximum of `wait`, in seconds. */
const waitLimitSeconds = 300;
const waitError = { error: `must be a number of seconds from 0 to ${waitLimitSeconds}` };
export const webhookQuery = z.object({
  wait: z.coerce
    .number(waitError)
    .min(0, waitError)
    .max(waitLimitSeconds, waitError)
    .optional()
    .describe('Seconds to wait for the deployment to end (default: reply 202 immediately).'),
});

/** The response to a webhook that created a deployment, or recorded a skipped one. */
export const webhookDeployment = z.object({
  id: z.uuid(),
  /** Absent for a skipped deployment. */
  revision: z.int().optional(),
  status: deploymentState,
  statusUrl: z.string(),
  reason: z.string().optional(),
});
/** 409 and 424 of `?wait=`: the deployment ended without success. */
export const webhookDeploymentEnded = webhookDeployment.extend({ code: z.string(), message: z.string() });
/** 200 for an event that deploys nothing and is not recorded in the history. */
export const webhookIgnored = z.object({ status: z.literal('ignored'), reason: z.string() });

const deliveryVerdicts = ['accepted', 'duplicate', 'skipped', 'ignored', 'refused'] as const;

/** Items of `GET …/webhook/deliveries`. */
export const deliveryItem = z.object({
  id: z.uuid(),
  receivedAt: timestamp,
  sender: z.string(),
  /** The sender's name for the event. */
  event: z.string().optional(),
  /** The sender's id of the delivery. */
  deliveryId: z.string().optional(),
  verdict: z.enum(deliveryVerdicts),
  /** The HTTP status of the response. */
  status: z.int(),
  /** The error code of a refusal. */
  code: z.string().optional(),
  reason: z.string().optional(),
  deploymentId: z.uuid().optional(),
  revision: z.int().optional(),
  /** What became of the deployment so far. */
  deploymentStatus: deploymentState.optional(),
  /** For a redelivery: the delivery that it repeats, and the user who requested it. */
  redeliveryOf: z.uuid().optional(),
  actor: z.string().optional(),
});
/** `GET …/webhook/deliveries/{id}`, and the response to a redelivery or a test. */
export const deliveryView = deliveryItem.extend({
  /** With secrets masked; a long body is truncated. A body that is neither JSON nor a form is not stored, and this says so. */
  body: z.string(),
  bodyBytes: z.int(),
});

export type DeliveryItem = z.infer<typeof deliveryItem>;
export type DeliveryView = z.infer<typeof deliveryView>;

/** `POST …/webhook/test`: the event to simulate; default: a ping. */
export const webhookTest = z
  .strictObject({ image: z.string().max(512), commit: z.string().max(200), branch: z.string().max(250) })
  .partial();
