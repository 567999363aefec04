import { isDeepStrictEqual } from 'node:util';
import { auditActor, sessionOf, type RouteRequest } from '../http/route.ts';

/** The previous and the new value of each changed field. */
export type Differences = Record<string, { from: unknown; to: unknown }>;

export interface KeyAudit {
  /** Such as `key.revoke`. */
  action: string;
  /** The environment's name. */
  environment: string;
  /** The key or plan after the change, or before its deletion; never key material. */
  subject: { apiKey: object } | { plan: object };
  changes?: Differences | undefined;
  /** The change's version in the gate's feed. */
  version: number;
}

/** Writes the audit entry of a change of keys and plans (docs/reference/logs.md#audit). */
export function auditKeys(
  request: Pick<RouteRequest<{ project: string }, unknown, unknown>, 'params' | 'session' | 'log'>,
  { subject, ...entry }: KeyAudit,
): void {
  request.log.info(
    { ...entry, ...auditActor(sessionOf(request)), project: request.params.project, ...subject },
    'apikey audit',
  );
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
