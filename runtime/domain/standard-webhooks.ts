import { createHmac, randomBytes } from 'node:crypto';

/** A message to sign with Standard Webhooks 1.0.0 (https://www.standardwebhooks.com). */
export interface WebhookMessage {
  /** The same for every attempt; contains no dot. */
  id: string;
  /** The time of this attempt, in whole seconds since 1970. */
  timestamp: number;
  /** The exact bytes that are sent. */
  body: string | Buffer;
}

const prefix = 'whsec_';

/** A new secret: `whsec_` and 32 random bytes in base64. */
export function newWebhookSecret(): string {
  return `${prefix}${randomBytes(32).toString('base64')}`;
}

/** The signature with a secret: `v1,<base64 of HMAC-SHA256 of id.timestamp.body>`. */
export function signWebhook(secret: string, { id, timestamp, body }: WebhookMessage): string {
  const key = Buffer.from(secret.startsWith(prefix) ? secret.slice(prefix.length) : secret, 'base64');
  return `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`;
}

/** The headers of a signed message. */
export function webhookHeaders(secret: string, message: WebhookMessage): Record<string, string> {
  return {
    'webhook-id': message.id,
    'webhook-timestamp': String(message.timestamp),
    'webhook-signature': signWebhook(secret, message),
  };
}
