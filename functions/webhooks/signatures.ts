import { createHmac } from 'node:crypto';
import { equalInConstantTime } from '../../runtime/domain/constant-time.ts';
import { signWebhook } from '../../runtime/domain/standard-webhooks.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A header that occurs once and is not empty. */
export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether a header is the HMAC-SHA256 of the exact bytes under the token, in hex, after `prefix`. */
export function isHexHmac(signature: string | undefined, token: string, rawBody: Buffer, prefix = ''): boolean {
  const expected = prefix + createHmac('sha256', token).update(rawBody).digest('hex');
  return signature !== undefined && equalInConstantTime(signature, expected);
}

/** Maximum age of a signature, in seconds, as the Standard Webhooks specification suggests. */
const toleranceSeconds = 300;

/**
 * The signing key for Standard Webhooks, derived from the token because GitLab requires a key of 32 bytes: `whsec_` and the
 * key in base64.
 */
export function signingSecret(token: string): string {
  return `whsec_${createHmac('sha256', token).update('standard-webhooks').digest('base64')}`;
}

/**
 * Whether a request is signed by Standard Webhooks with {@link signingSecret}: one of the signatures in
 * `webhook-signature` is `v1,<base64>` of the HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, and the timestamp is recent.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function isStandardSignature(headers: Headers, token: string, rawBody: Buffer, now: Date): boolean {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const signatures = header(headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || signatures === undefined || signatures.length > 4_096)
    return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const signature = signWebhook(signingSecret(token), { id, timestamp: Number(timestamp), body: rawBody });
  // All signatures are compared, for a constant duration.
  const matches = signatures.split(' ').map((entry) => equalInConstantTime(entry, signature));
  const isRecent = Math.abs(now.getTime() / 1000 - Number(timestamp)) <= toleranceSeconds;
  return matches.includes(true) && isRecent;
}
