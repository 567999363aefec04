import { createHmac } from 'node:crypto';
import { sameText } from '../../runtime/domain/same-text.ts';
import { signWebhook } from '../../runtime/domain/standard-webhooks.ts';

export type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** A header that was sent once and is not empty. */
export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** Whether a header is the HMAC-SHA256 of the exact bytes under the token, in hex behind `prefix`. */
export function isHexHmac(given: string | undefined, token: string, rawBody: Buffer, prefix = ''): boolean {
  const expected = prefix + createHmac('sha256', token).update(rawBody).digest('hex');
  return given !== undefined && sameText(given, expected);
}

/** How far a signed time may be from ours, in seconds: what the Standard Webhooks specification suggests. */
const toleranceSeconds = 300;

/**
 * The key that is given to senders which sign by Standard Webhooks, made of the token, since GitLab takes keys of 32 bytes
 * only: `whsec_` and the key in base64.
 */
export function signingSecret(token: string): string {
  return `whsec_${createHmac('sha256', token).update('standard-webhooks').digest('base64')}`;
}

/**
 * Whether a request is signed by Standard Webhooks with {@link signingSecret}: `webhook-signature` holds, among others,
 * `v1,<base64>` of the HMAC-SHA256 over `<webhook-id>.<webhook-timestamp>.<body>`, and the time is that of now.
 * https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
export function isStandardSignature(headers: Headers, token: string, rawBody: Buffer, now: Date): boolean {
  const id = header(headers, 'webhook-id');
  const timestamp = header(headers, 'webhook-timestamp');
  const given = header(headers, 'webhook-signature');
  if (id === undefined || timestamp === undefined || given === undefined || given.length > 4_096) return false;
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  const signature = signWebhook(signingSecret(token), { id, timestamp: Number(timestamp), body: rawBody });
  // Every signature is looked at, whichever fits.
  const fits = given.split(' ').map((each) => sameText(each, signature));
  const inTime = Math.abs(now.getTime() / 1000 - Number(timestamp)) <= toleranceSeconds;
  return fits.includes(true) && inTime;
}
