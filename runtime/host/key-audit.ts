import { isDeepStrictEqual } from 'node:util';
import { sessionOf, type RouteRequest } from './route.ts';

/** Of each field that changed, what it was and what it is. */
export type Differences = Record<string, { from: unknown; to: unknown }>;

export interface KeyAudit {
  /** What was done, such as `key.revoke`. */
  action: string;
  /** The environment's name. */
  environment: string;
  /** The key or plan as it is now, or was when it went. Never key material. */
  subject: { apiKey: object } | { plan: object };
  changes?: Differences | undefined;
  /** The change's version in the gate's feed. */
  version: number;
}

/** The log entry of spec.md §6.3 for a change of keys and plans: who did what to what; the log adds when. */
export function auditKeys(
  request: Pick<RouteRequest<{ project: string }, unknown, unknown>, 'params' | 'session' | 'log'>,
  { subject, ...entry }: KeyAudit,
): void {
  request.log.info(
    { ...entry, actor: sessionOf(request).email, project: request.params.project, ...subject },
    'apikey audit',
  );
}

/** What differs between two states of one thing. */
export function differences<Thing extends object>(before: Thing, after: Thing): Differences {
  const fields = Object.keys(after) as (keyof Thing & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => !isDeepStrictEqual(before[field], after[field]))
      .map((field) => [field, { from: before[field], to: after[field] }]),
  );
}
