import { randomUUIDv7 } from 'node:crypto';

/** A UUIDv7 (RFC 9562). Rows and key scopes refer to this identity, never to a name (decision 0001). */
export type Id = string;

/** A new, time-ordered identity. */
export function newId(): Id {
  return randomUUIDv7();
}
