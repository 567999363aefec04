import type { Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { OthersRow } from './gate-store.ts';
import { createOthersUsage } from './others-usage.ts';
import {
  createUnwrittenUsage,
  emptyDay,
  hasCounts,
  unwrittenPart,
  type DayCounts,
  type UsageBatch,
} from './unwritten-usage.ts';

/**
 * One key's counts of this incarnation: those of its last day with traffic, and the allowed requests of the current
 * periods.
 */
export interface OwnCounts {
  today: DayCounts;
  /** The starts of the week and month that are summed. */
  week: number;
  month: number;
  allowedInWeek: number;
  allowedInMonth: number;
  /** Whether they are current; false for counts of an earlier incarnation and forgotten ones. */
  current: boolean;
}

/** A key with a reference to its counts, which saves a lookup for every request. */
export interface CountedKey {
  readonly id: Id;
  /** Set by {@link Usage}; undefined at first. */
  counts: OwnCounts | undefined;
}

/**
 * The usage of keys in one replica: its own exact counts, and those of the others as of the last poll. Counts are
 * written as absolute numbers per incarnation, key and day, so that a repeated write never counts twice. A killed
 * process loses the counts since the last written batch: one flush interval, or the length of an outage of the store,
 * after 90 s of which the gate denies all requests. Within an incarnation, days only advance. When the wall clock goes
 * back to an earlier day, requests still count for the later day until the feed {@link renew
 * renews} the incarnation.
 */
export interface Usage {
  incarnation(): Id;
  /**
   * The day for which requests are counted.
   * @param wall milliseconds since the epoch
   */
  calendar(wall: number): CalendarDay;
  /** The requests allowed in the current period, by all replicas. */
  allowed(key: CountedKey, period: Period, calendar: CalendarDay): number;
  countAllowed(key: CountedKey, calendar: CalendarDay): void;
  countRateDenied(key: CountedKey, calendar: CalendarDay): void;
  countQuotaDenied(key: CountedKey, calendar: CalendarDay): void;

  /**
   * The next batch, with at most `maxRows` rows; the previous one until its outcome was reported. Undefined when there
   * is nothing to write.
   */
  batch(maxRows: number): UsageBatch | undefined;
  /** Reports that the batch is in the store. */
  written(batch: UsageBatch): void;
  /** The number of keys with counts in memory. */
  size(): number;
  /** Whether any counts are not in the store yet. */
  pending(): boolean;

  /** Replaces the counts of the other replicas, as read for this calendar. */
  replaceOthers(rows: Iterable<readonly [Id, number]>, calendar: CalendarDay): void;
  /**
   * Updates the other replicas' counts of some keys; ignored for a calendar other than that of the last replacement.
   */
  updateOthers(rows: readonly OthersRow[], calendar: CalendarDay): void;
  /** The calendar of the last replacement; on another day, replace again. */
  othersCalendar(): CalendarDay | undefined;

  /** Whether the wall clock has gone back to an earlier day, by more than a small correction. */
  outrun(wall: number): boolean;
  /** Writes all counts in memory again, because the store may have been restored from an older copy. */
  rewrite(): void;
  /**
   * Continues under a new incarnation from `calendar` on, after the previous one was closed. Unwritten counts move to
   * the new one; those of later days count for its first day. Replace the others' counts in the same step: they now
   * include the previous incarnation.
   * @param batches the number of the previous incarnation's last batch
   */
  renew(incarnation: Id, batches: number, calendar: CalendarDay): void;
  /**
   * Removes keys without counts in the current periods; call it once a day.
   * @returns the number of removed keys
   */
  forget(calendar: CalendarDay): number;
}

/** The wall clock may go back this far without a renewal, as clock synchronization does. */
const slipMs = 60_000;

export function createUsage(firstIncarnation: Id): Usage {
  const unwritten = createUnwrittenUsage(firstIncarnation);
  const others = createOthersUsage();
  let own = new Map<Id, OwnCounts>();
  let today: CalendarDay | undefined;

  const find = (key: CountedKey): OwnCounts | undefined => {
    if (!key.counts?.current) key.counts = own.get(key.id);
    return key.counts;
  };

  const countsOf = (key: CountedKey, calendar: CalendarDay): OwnCounts => {
    let counts = find(key);
    if (!counts) {
      counts = emptyCounts(key.id, calendar);
      own.set(key.id, counts);
      key.counts = counts;
    } else if (counts.today.day !== calendar.day) {
      advance(counts, calendar);
    }
    return counts;
  };

  return {
    incarnation: () => unwritten.incarnation(),
    calendar(wall) {
      if (!today || wall >= today.end.day) today = calendarDay(wall);
      return today;
    },
    allowed: (key, period, calendar) =>
      ownAllowed(find(key), period, calendar) + others.allowed(key.id, period, calendar),
    countAllowed(key, calendar) {
      const counts = countsOf(key, calendar);
      counts.today.allowed++;
      counts.allowedInWeek++;
      counts.allowedInMonth++;
      unwritten.mark(counts.today);
    },
    countRateDenied(key, calendar) {
      const { today: day } = countsOf(key, calendar);
      day.rateDenied++;
      unwritten.mark(day);
    },
    countQuotaDenied(key, calendar) {
      const { today: day } = countsOf(key, calendar);
      day.quotaDenied++;
      unwritten.mark(day);
    },

    batch: (maxRows) => unwritten.batch(maxRows),
    written: (batch) => unwritten.written(batch),
    size: () => own.size,
    pending: () => unwritten.pending(),

    replaceOthers: (rows, calendar) => others.replace(rows, calendar),
    updateOthers: (rows, calendar) => others.update(rows, calendar),
    othersCalendar: () => others.calendar(),

    outrun: (wall) => today !== undefined && wall < today.start.day - slipMs,
    rewrite() {
      for (const { today: day } of own.values()) if (hasCounts(day)) unwritten.mark(day);
    },
    renew(next, lastBatch, calendar) {
      const days = unwritten.restart(next, lastBatch);
      for (const counts of own.values()) counts.current = false;
      own = new Map();
      today = calendar;
      for (const day of days) {
        const moved = unwrittenPart(day, day.day > calendar.day ? calendar.day : day.day);
        if (hasCounts(moved)) take(moved, calendar);
      }
    },
    forget(calendar) {
      const before = own.size;
      for (const [keyId, counts] of own) {
        const over = counts.month !== calendar.start.month && counts.week !== calendar.start.week;
        if (!over || counts.today.dirty) continue;
        own.delete(keyId);
        counts.current = false;
      }
      return before - own.size;
    },
  };

  /** Adds the unwritten counts of another incarnation to the periods that they belong to. */
  function take(moved: DayCounts, calendar: CalendarDay): void {
    const counts = countsOf({ id: moved.keyId, counts: undefined }, calendar);
    if (moved.day === calendar.day) {
      counts.today.allowed += moved.allowed;
      counts.today.rateDenied += moved.rateDenied;
      counts.today.quotaDenied += moved.quotaDenied;
      unwritten.mark(counts.today);
    } else {
      unwritten.mark(moved);
    }
    const startedAt = Date.parse(moved.day);
    if (startedAt >= calendar.start.week) counts.allowedInWeek += moved.allowed;
    if (startedAt >= calendar.start.month) counts.allowedInMonth += moved.allowed;
  }
}

function emptyCounts(keyId: Id, { day, start: { week, month } }: CalendarDay): OwnCounts {
  return { today: emptyDay(keyId, day), week, month, allowedInWeek: 0, allowedInMonth: 0, current: true };
}

/** Begins another day. The counts of the previous one stay unwritten until they are in a batch. */
function advance(counts: OwnCounts, { day, start: { week, month } }: CalendarDay): void {
  counts.today = emptyDay(counts.today.keyId, day);
  if (counts.week !== week) counts.allowedInWeek = 0;
  if (counts.month !== month) counts.allowedInMonth = 0;
  counts.week = week;
  counts.month = month;
}

function ownAllowed(counts: OwnCounts | undefined, period: Period, { day, start }: CalendarDay): number {
  if (!counts) return 0;
  if (period === 'day') return counts.today.day === day ? counts.today.allowed : 0;
  if (period === 'week') return counts.week === start.week ? counts.allowedInWeek : 0;
  return counts.month === start.month ? counts.allowedInMonth : 0;
}
