import { hash } from 'node:crypto';
import { checksum, randomText } from './random-text.ts';

/**
 * An API key: `svc_<handle: 8>_<secret: 40><checksum: 6>`, all of [a-z0-9] (decision 0001).
 * The checksum lets the gate reject malformed keys before a lookup, and lets scanners recognise leaked keys.
 */
export const apiKeyPattern = /^svc_([a-z0-9]{8})_[a-z0-9]{40}([a-z0-9]{6})$/;
/** What finds a key in a text, as a regular expression that Go and JavaScript read alike. */
export const apiKeySearch = 'svc_[a-z0-9]{8}_[a-z0-9]{46}';
/** The length of every key. */
export const apiKeyLength = 59;
const handleStart = 4;
const secretStart = 13;
const checksumStart = 53;

/** A new key with its public handle. The full key is returned once and not stored. */
export function generateApiKey(): { key: string; handle: string } {
  const handle = randomText(8);
  const body = `svc_${handle}_${randomText(40)}`;
  return { key: body + checksum(body), handle };
}

/** The value of each character as a digit in base 36; -1 for characters that keys do not contain. */
const digits = Int8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[a-z0-9]/.test(character) ? Number.parseInt(character, 36) : -1;
});
/** The CRC-32 of each byte (polynomial of zlib). */
const crcOfByte = Int32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  return crc;
});

/**
 * The handle of a well-formed key with a valid checksum; undefined for anything else. Cheap for input of any size: it is
 * {@link apiKeyPattern} and {@link checksum} in one pass, because the gate runs it for every request.
 */
export function parseApiKey(key: string): { handle: string } | undefined {
  if (key.length !== apiKeyLength || !key.startsWith('svc_') || key[secretStart - 1] !== '_') return undefined;
  let crc = -1;
  let sum = 0;
  for (let index = 0; index < apiKeyLength; index++) {
    const code = key.charCodeAt(index);
    const digit = digits[code] ?? -1;
    if (digit < 0 && index !== handleStart - 1 && index !== secretStart - 1) return undefined;
    if (index < checksumStart) crc = (crcOfByte[(crc ^ code) & 0xff] ?? 0) ^ (crc >>> 8);
    else sum = sum * 36 + digit;
  }
  if ((~crc >>> 0) % 36 ** 6 !== sum) return undefined;
  return { handle: key.slice(handleStart, secretStart - 1) };
}

/** The SHA-256 digest (32 bytes) under which a key is stored and compared; 206 bits of randomness need no salt. */
export function apiKeyDigest(key: string): Buffer {
  // Via a string: node:crypto takes twice as long to create a Buffer, and this is most of the cost of a verdict.
  return Buffer.from(hash('sha256', key, 'binary'), 'latin1');
}

/** A new webhook token, `svcwh_` and 40 of [a-z0-9] (decision 0001). */
export function generateWebhookToken(): string {
  return `svcwh_${randomText(40)}`;
}

/** A new bearer token of a session, `svcs_` and 40 of [a-z0-9]. */
export function generateSessionToken(): string {
  return `svcs_${randomText(40)}`;
}
