import type { Clock } from '../../../runtime/domain/clock.ts';

/** Counts of what happened lately, by name. */
export interface RecentCounts {
  add(name: string): void;
  /** How often it was added within the time, at most the maximum. */
  of(name: string): number;
}

/**
 * Counts what was added within the last milliseconds, up to a maximum for each name. Names without recent
 * additions take no memory. It has no timer to stop.
 */
export function createRecentCounts({ clock, ms, max }: { clock: Clock; ms: number; max: number }): RecentCounts {
  /** The latest times of each name. The name that was added last is the last. */
  const times = new Map<string, number[]>();

  const forget = (before: number) => {
    for (const [name, list] of times) {
      if ((list.at(-1) ?? 0) > before) break;
      times.delete(name);
    }
  };
  return {
    add(name) {
      const now = clock.monotonic();
      forget(now - ms);
      const earlier = times.get(name) ?? [];
      times.delete(name);
      times.set(name, [...earlier, now].slice(-max));
    },
    of(name) {
      const before = clock.monotonic() - ms;
      forget(before);
      return (times.get(name) ?? []).filter((time) => time > before).length;
    },
  };
}
