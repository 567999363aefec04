import type { CalendarDay, Period } from '../../runtime/domain/period.ts';
import type { OthersRow } from './gate-store.ts';
import type { KeySlots } from './key-slots.ts';
import { NumberRecords } from './paged.ts';

/** One reading of the other replicas' counts, which may come in pieces. Nothing changes before `commit`. */
export interface OthersReading {
  others(rows: readonly OthersRow[]): void;
  /**
   * @param calendar the one that they were read for
   * @param all whether they replace the counts of all keys. The counts of some keys are ignored for a calendar other than
   *   that of the last replacement.
   */
  commit(calendar: CalendarDay, all: boolean): void;
}

/** The requests that the other replicas have allowed, by key, as of the last poll. */
export interface OthersUsage {
  /** The requests that the others allowed the key in the calendar's period. */
  allowed(slot: number, period: Period, calendar: CalendarDay): number;
  read(): OthersReading;
  /** The calendar of the last replacement. */
  calendar(): CalendarDay | undefined;
  /** Removes the count of a key. */
  reset(slot: number): void;
}

export function createOthersUsage(keys: KeySlots): OthersUsage {
  const counts = new NumberRecords(1);
  let readFor: CalendarDay | undefined;

  return {
    allowed(slot, period, calendar) {
      // Counts of another period do not apply to the current one, which has just started.
      return readFor?.start[period] === calendar.start[period] ? counts.get(slot, 0) : 0;
    },
    read() {
      const slots: number[] = [];
      const allowed: number[] = [];
      return {
        others(rows) {
          for (const row of rows) {
            slots.push(keys.slotOf(row.keyId));
            allowed.push(row.allowed);
          }
        },
        commit(calendar, all) {
          if (!all && readFor?.day !== calendar.day) return;
          if (all) {
            counts.clear();
            readFor = calendar;
          }
          slots.forEach((slot, index) => counts.set(slot, 0, allowed[index] ?? 0));
        },
      };
    },
    calendar: () => readFor,
    reset: (slot) => counts.reset(slot),
  };
}
