import type { Id } from '../../runtime/domain/ids.ts';
import type { CalendarDay, Period } from '../../runtime/domain/period.ts';
import type { OthersRow } from './gate-store.ts';

/** The requests that the other replicas have allowed, by key, as of the last poll. */
export interface OthersUsage {
  /** The requests that the others allowed the key in the calendar's period. */
  allowed(keyId: Id, period: Period, calendar: CalendarDay): number;
  /** Replaces all counts, as read for this calendar. */
  replace(rows: Iterable<readonly [Id, number]>, calendar: CalendarDay): void;
  /** Updates the counts of some keys; ignored for a calendar other than that of the last replacement. */
  update(rows: readonly OthersRow[], calendar: CalendarDay): void;
  /** The calendar of the last replacement. */
  calendar(): CalendarDay | undefined;
}

export function createOthersUsage(): OthersUsage {
  let counts = new Map<Id, number>();
  let readFor: CalendarDay | undefined;

  return {
    allowed(keyId, period, calendar) {
      // Counts of another period do not apply to the current one, which has just started.
      if (readFor?.start[period] !== calendar.start[period]) return 0;
      return counts.get(keyId) ?? 0;
    },
    replace(rows, calendar) {
      counts = new Map(rows);
      readFor = calendar;
    },
    update(rows, calendar) {
      if (readFor?.day !== calendar.day) return;
      for (const { keyId, allowed } of rows) counts.set(keyId, allowed);
    },
    calendar: () => readFor,
  };
}
