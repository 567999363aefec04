import { hash, timingSafeEqual } from 'node:crypto';
import { accessTokenPrefix } from './access-token-prefix.ts';
import { dayMs } from './period.ts';
import { checksum, randomText } from './random-text.ts';
import { Problem } from './problem.ts';

/**
 * An access token: `svct_<handle: 8>_<secret: 40><checksum: 6>`, all of [a-z0-9], the form of an API key with a prefix of
 * its own (decision 0047). The checksum rejects malformed tokens before a lookup, and lets scanners recognise leaked ones.
 */
export const accessTokenPattern = /^svct_([a-z0-9]{8})_[a-z0-9]{40}([a-z0-9]{6})$/;

/** A new token with its public handle. The token is returned once and not stored. */
export function generateAccessToken(): { token: string; handle: string } {
  const handle = randomText(8);
  const body = `${accessTokenPrefix}${handle}_${randomText(40)}`;
  return { token: body + checksum(body), handle };
}

/** The handle of a well-formed token with a valid checksum; undefined for anything else. */
export function parseAccessToken(token: string): { handle: string } | undefined {
  const [, handle, sum] = accessTokenPattern.exec(token) ?? [];
  if (handle === undefined || sum === undefined || checksum(token.slice(0, -sum.length)) !== sum) return undefined;
  return { handle };
}

/** The SHA-256 digest (32 bytes) under which a token is stored; 206 bits of randomness need no salt. */
export function accessTokenDigest(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** Whether a token has this digest, in a time that does not depend on where they differ. */
export function hasDigest(token: string, digest: Buffer): boolean {
  const own = accessTokenDigest(token);
  return digest.length === own.length && timingSafeEqual(own, digest);
}

/** The lifetime of a token that is created without one. */
export const tokenLifetimeMs = 90 * dayMs;
/** The longest lifetime of a token. */
export const tokenLifetimeMaxMs = 366 * dayMs;

/** Shorter than a UUID, so that a path names a token either by name or by id. */
const nameMax = 30;

/** Checks a token's name. @throws Problem `invalid_value` */
export function checkTokenName(name: string): string {
  const details = { field: 'name' };
  if (!/^[a-z]([a-z0-9-]*[a-z0-9])?$/.test(name)) {
    const message = `"${name.slice(0, 100)}" is not a valid name: use lower-case letters, digits and hyphens, starting with a letter.`;
    throw new Problem('invalid_value', message, { details });
  }
  if (name.length <= nameMax) return name;
  throw new Problem('invalid_value', `The name has ${name.length} characters; the limit is ${nameMax}.`, { details });
}
