import { createHash, hash, randomInt } from 'node:crypto';

/**
 * An API key: `svc_<handle: 8>_<secret: 40><checksum: 6>`, all of [a-z0-9] (decision 0001).
 * The checksum lets garbage be refused before any lookup, and lets scanners recognise a leaked key.
 */
export const apiKeyPattern = /^svc_([a-z0-9]{8})_([a-z0-9]{40})([a-z0-9]{6})$/;

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomText(length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

/** Six characters over everything before them: the first 36^6 part of a SHA-256, in base 36. */
function checksum(body: string): string {
  const digest = createHash('sha256').update(body).digest();
  return (digest.readUIntBE(0, 6) % 36 ** 6).toString(36).padStart(6, '0');
}

/** A new key with its public handle. The full key is shown once and stored nowhere. */
export function generateApiKey(): { key: string; handle: string } {
  const handle = randomText(8);
  const body = `svc_${handle}_${randomText(40)}`;
  return { key: body + checksum(body), handle };
}

/** The handle of a well-formed key, or undefined for anything else, checksum included. */
export function parseApiKey(key: string): { handle: string } | undefined {
  const match = apiKeyPattern.exec(key);
  if (!match?.[1] || checksum(key.slice(0, -6)) !== match[3]) return undefined;
  return { handle: match[1] };
}

/** The SHA-256 digest (32 bytes) under which a key is stored and compared; 240 bits of randomness need no salt. */
export function apiKeyDigest(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** A new webhook token, `svcwh_` and 40 of [a-z0-9] (decision 0001). */
export function generateWebhookToken(): string {
  return `svcwh_${randomText(40)}`;
}

/** A new bearer token of a session, `svcs_` and 40 of [a-z0-9]. */
export function generateSessionToken(): string {
  return `svcs_${randomText(40)}`;
}
