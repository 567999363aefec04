import { z } from 'zod';
import { deploymentState, timestamp } from './common.ts';

const filters = {
  /** The only branch whose pushes deploy; null: that of the app's git source. */
  branch: z.string().min(1).max(250).nullable(),
  /** Patterns of tags that a registry may deploy, such as `v*,release-*`; null: any. */
  tags: z.string().min(1).max(250).nullable(),
  /** Whether there is a secret URL for senders that sign nothing; true makes a new one, whose former ends at once. */
  secretUrl: z.boolean(),
};

/** The longest grace of a token that was replaced, in seconds: 30 days. */
export const graceLimitSeconds = 2_592_000;

/** `PUT /api/v1/projects/{p}/apps/{a}/webhook`: enables with a new token. */
export const webhookEnable = z
  .strictObject({
    /** How long the token that counted until now stays valid; default 0. */
    graceSeconds: z.int().min(0).max(graceLimitSeconds),
    ...filters,
  })
  .partial();

/** `PATCH …/webhook`: changes the settings, not the token. */
export const webhookChange = z.strictObject(filters).partial();

/** Answers of `PUT`, `PATCH` and `GET …/webhook`: the token is shown on each (spec.md §4.7). */
export const webhookView = z.object({
  enabled: z.boolean(),
  url: z.string().optional(),
  token: z.string().optional(),
  /** The key for senders that sign by Standard Webhooks (`whsec_…`), made of the token. */
  signingSecret: z.string().optional(),
  /** Until when the token before this one stays valid. */
  graceUntil: timestamp.optional(),
  version: z.int().optional(),
  branch: z.string().optional(),
  tags: z.string().optional(),
  /** Whether there is a secret URL. */
  hasSecretUrl: z.boolean().optional(),
  /** The secret URL, on the answer that made it and nowhere else. */
  secretUrl: z.string().optional(),
  updatedAt: timestamp.optional(),
});

export type WebhookView = z.infer<typeof webhookView>;

/** `POST /api/v1/webhook/{namespace}/{app}` (spec.md §4.3) in our own form; other fields of the sender are ignored. */
export const webhookDeploy = z.object({
  image: z.string().optional(),
  commit: z.string().max(200).optional(),
  /** For the history. */
  commitMessage: z.string().max(10_000).optional(),
  commitAuthor: z.string().max(500).optional(),
  branch: z.string().max(250).optional(),
});

/** How long `?wait=` holds at most, in seconds. */
export const waitLimitSeconds = 300;
const waitError = { error: `must be a number of seconds from 0 to ${waitLimitSeconds}` };
export const webhookQuery = z.object({
  wait: z.coerce.number(waitError).min(0, waitError).max(waitLimitSeconds, waitError).optional(),
});

/** What a webhook answers when there is a deployment, or a record of one that was skipped. */
export const webhookDeployment = z.object({
  id: z.uuid(),
  /** Absent for one that was skipped. */
  revision: z.int().optional(),
  status: deploymentState,
  statusUrl: z.string(),
  reason: z.string().optional(),
});
/** 409 and 424 of `?wait=`: the deployment ended, and not well. */
export const webhookDeploymentEnded = webhookDeployment.extend({ code: z.string(), message: z.string() });
/** 200 for what deploys nothing and leaves nothing in the history. */
export const webhookIgnored = z.object({ status: z.literal('ignored'), reason: z.string() });

export const deliveryVerdicts = ['accepted', 'duplicate', 'skipped', 'ignored', 'refused'] as const;

/** Items of `GET …/webhook/deliveries`. */
export const deliveryItem = z.object({
  id: z.uuid(),
  receivedAt: timestamp,
  sender: z.string(),
  /** As the sender calls it. */
  event: z.string().optional(),
  /** The sender's own name for the delivery. */
  deliveryId: z.string().optional(),
  verdict: z.enum(deliveryVerdicts),
  /** The HTTP status that was answered. */
  status: z.int(),
  /** Of a refusal. */
  code: z.string().optional(),
  reason: z.string().optional(),
  deploymentId: z.uuid().optional(),
  revision: z.int().optional(),
  /** The delivery that this one repeats, and who asked for it. */
  redeliveryOf: z.uuid().optional(),
  actor: z.string().optional(),
});
/** `GET …/webhook/deliveries/{id}`, and the answer to a redelivery or a test. */
export const deliveryView = deliveryItem.extend({
  /** Secrets are masked; of a long body its beginning. What is neither JSON nor a form is not kept, which it then says. */
  body: z.string(),
  bodyBytes: z.int(),
});

export type DeliveryItem = z.infer<typeof deliveryItem>;
export type DeliveryView = z.infer<typeof deliveryView>;

/** `POST …/webhook/test`: what to pretend that a sender sent; nothing of it: a ping. */
export const webhookTest = z
  .strictObject({ image: z.string().max(512), commit: z.string().max(200), branch: z.string().max(250) })
  .partial();
