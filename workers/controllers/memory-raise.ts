import type { ComponentStatus } from '../../runtime/contracts/resources/monitoring.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { memoryCeilings, raisePauseMs, type ComponentName } from '../../runtime/domain/monitoring.ts';
import { formatBytes, parseBytes } from '../../runtime/domain/quantity.ts';

/** A container that was killed for memory. */
export interface Kill {
  /** When it ended, in whole seconds. */
  at: string;
  /** The limit that it had. */
  limit?: string;
}

/** The part of a component's status that says why its memory limit was raised, or why not. */
export type MemoryHistory = Pick<ComponentStatus, 'raised' | 'killedAt' | 'notRaised'>;

export interface RaiseDecision {
  history: MemoryHistory;
  /** When to decide again, because the last raise is too recent. */
  retryAfterMs?: number;
}

/** The kills for memory in these pods, the newest last. */
export function killsIn(pods: readonly Pod[]): Kill[] {
  return pods
    .flatMap(({ spec, status }) =>
      (status?.containerStatuses ?? []).flatMap(({ name, state, lastState }) =>
        [lastState?.terminated, state?.terminated].flatMap((ended) => {
          if (ended?.reason !== 'OOMKilled' || ended.finishedAt === undefined) return [];
          const limit = spec.containers.find((container) => container.name === name)?.resources?.limits?.['memory'];
          return [{ at: ended.finishedAt, ...(limit !== undefined && { limit }) }];
        }),
      ),
    )
    .sort((a, b) => a.at.localeCompare(b.at));
}

/**
 * Decides whether a store that was killed for memory gets twice as much: once for each kill, ten minutes apart, up to
 * the ceiling, and never over a limit that an admin set. It never lowers a limit. Pure.
 * @param options.history the result of the last decision
 */
export function decideRaise(options: {
  name: ComponentName;
  limit: string;
  manual: boolean;
  history: MemoryHistory;
  kills: readonly Kill[];
  now: Date;
}): RaiseDecision {
  const { name, limit, manual, kills, now } = options;
  const { raised, killedAt, notRaised } = options.history;
  const lastRaise = { ...(raised && { raised }) };
  const unchanged = { ...lastRaise, ...(killedAt !== undefined && { killedAt }) };
  // Whether it is too soon is decided anew.
  const history = { ...unchanged, ...(notRaised !== undefined && notRaised !== 'TooSoon' && { notRaised }) };
  const bytes = parseBytes(limit) ?? 0;
  const kill = kills.findLast(({ at }) => killedAt === undefined || at > killedAt);
  if (!kill) return { history };
  // A container that still had a lower limit, such as that before the last raise, says nothing about the present one.
  if (kill.limit !== undefined && (parseBytes(kill.limit) ?? 0) < bytes) return { history };
  const next = { ...lastRaise, killedAt: kill.at };
  const ceiling = name === 'metrics-store' || name === 'log-store' ? memoryCeilings[name] : undefined;
  if (ceiling === undefined) return { history: next };
  if (manual) return { history: { ...next, notRaised: 'ManualLimit' } };
  const most = parseBytes(ceiling) ?? 0;
  if (bytes >= most) return { history: { ...next, notRaised: 'AtCeiling' } };
  const waitMs = raised ? Date.parse(raised.raisedAt) + raisePauseMs - now.getTime() : 0;
  if (waitMs > 0) {
    return { history: { ...unchanged, notRaised: 'TooSoon' }, retryAfterMs: waitMs };
  }
  const to = formatBytes(Math.min(bytes * 2, most));
  const reason = `killed for memory at ${kill.at}`;
  return { history: { raised: { raisedAt: now.toISOString(), from: limit, to, reason }, killedAt: kill.at } };
}
