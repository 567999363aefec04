import type { App } from '../contracts/resources/app.ts';
import { apiGroup } from '../domain/labels.ts';

/**
 * How often a session renews its run, and how long a run stays without a renewal, in ms. The second is longer than the API
 * server is away in an upgrade: while it is, no session can renew its run (decision 0066).
 */
export const sessionMs = { renew: 60_000, expire: 5 * 60_000 };

const prefix = `${apiGroup}/session-`;

/** On an App: when the session of a run was last known to be open. @param id of the run's request */
export function sessionAnnotation(id: string): string {
  return `${prefix}${id}`;
}

/** The sessions of an app, each with the id of its run and its last renewal, in ms since 1970. */
export function sessionsOf({ metadata }: Pick<App, 'metadata'>): { id: string; renewedAt: number }[] {
  return Object.entries(metadata.annotations ?? {}).flatMap(([name, value]) => {
    const renewedAt = Date.parse(value);
    return name.startsWith(prefix) && !Number.isNaN(renewedAt) ? [{ id: name.slice(prefix.length), renewedAt }] : [];
  });
}

/** The annotations of an app without those of these sessions. */
export function withoutSessions({ metadata }: Pick<App, 'metadata'>, ids: readonly string[]): Record<string, string> {
  const ended = new Set(ids.map(sessionAnnotation));
  return Object.fromEntries(Object.entries(metadata.annotations ?? {}).filter(([name]) => !ended.has(name)));
}
