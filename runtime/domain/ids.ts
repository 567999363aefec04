import { randomUUIDv7 } from 'node:crypto';

/** A UUIDv7 (RFC 9562). Rows and key scopes refer to this identity, never to a name (decision 0001). */
export type Id = string;

/** A new, time-ordered identity. */
export function newId(): Id {
  return randomUUIDv7();
}

/** The lowest identity of a moment: {@link newId} returns higher ones from then on, and lower ones before. */
export function lowestId(at: Date): Id {
  const time = Math.max(0, at.getTime()).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
