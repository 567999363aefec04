import { randomUUIDv7 } from 'node:crypto';

/** A UUIDv7 (RFC 9562): the identity that rows and key scopes refer to, never a name (decision 0001). */
export type Id = string;

/** A new, time-ordered identity. */
export function newId(): Id {
  return randomUUIDv7();
}
