import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

/**
 * An API key: `svc_<handle: 8>_<secret: 40><checksum: 6>`, all of [a-z0-9] (decision 0001).
 * The checksum lets garbage be refused before any lookup, and lets scanners recognise a leaked key.
 */
export const apiKeyPattern = /^svc_([a-z0-9]{8})_[a-z0-9]{40}([a-z0-9]{6})$/;
/** The length of every key. */
export const apiKeyLength = 59;

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function randomText(length: number): string {
  let text = '';
  for (let index = 0; index < length; index++) text += alphabet[randomInt(alphabet.length)];
  return text;
}

/** Six characters in base 36: the CRC-32 of everything before them, modulo 36^6. It recognises; it protects nothing. */
function checksum(body: string): string {
  return (crc32(body) % 36 ** 6).toString(36).padStart(6, '0');
}

/** A new key with its public handle. The full key is shown once and stored nowhere. */
export function generateApiKey(): { key: string; handle: string } {
  const handle = randomText(8);
  const body = `svc_${handle}_${randomText(40)}`;
  return { key: body + checksum(body), handle };
}

/** The handle of a well-formed key, or undefined for anything else, checksum included. Cheap for input of any size. */
export function parseApiKey(key: string): { handle: string } | undefined {
  if (key.length !== apiKeyLength) return undefined;
  const match = apiKeyPattern.exec(key);
  if (!match?.[1] || checksum(key.slice(0, -6)) !== match[2]) return undefined;
  return { handle: match[1] };
}

/** The SHA-256 digest (32 bytes) under which a key is stored and compared; 206 bits of randomness need no salt. */
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
