import { isDeepStrictEqual } from 'node:util';
import type { AuditAction } from '../domain/audit.ts';
import type { AuditFields } from '../http/route.ts';

/** The previous and the new value of each changed field. */
export type Differences = Record<string, { from: unknown; to: unknown }>;

export interface KeyAudit {
  /** Such as `key.disable`; default: the action that the route declares. */
  action?: AuditAction;
  /** The environment's name. */
  environment: string;
  /** The key or plan after the change, or before its deletion; never key material. */
  subject: { apiKey: object } | { plan: object };
  changes?: Differences | undefined;
  /** The change's version in the gate's feed. */
  version: number;
}

/** The message of audit lines about keys, plans and gates (docs/reference/logs.md#audit). */
export const keyAuditMessage = 'apikey audit';

/** The fields of the audit entry of a change of keys and plans. */
export function keyAudit({ subject, ...entry }: KeyAudit): AuditFields {
  return { ...entry, ...subject };
}

/** The fields that differ between two states of an object. */
export function differences<Thing extends object>(before: Thing, after: Thing): Differences {
  const fields = Object.keys(after) as (keyof Thing & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );
}
