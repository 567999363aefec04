import type { Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { OthersRow, UsageColumns } from './gate-store.ts';

/** The counts of one key and day in the current incarnation, and the part of them that the store has. */
interface DayCounts {
  readonly keyId: Id;
  /** `YYYY-MM-DD`; changed only by {@link Usage.renew}. */
  day: string;
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
  written: { allowed: number; rateDenied: number; quotaDenied: number };
  /** Whether it has counts to write. */
  dirty: boolean;
}

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

/** A batch to write. It is repeated unchanged until its outcome is known. */
export interface UsageBatch {
  incarnation: Id;
  /** Counted from 1 in each incarnation. */
  number: number;
  columns: UsageColumns;
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

function emptyDay(keyId: Id, day: string): DayCounts {
  const written = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
  return { keyId, day, allowed: 0, rateDenied: 0, quotaDenied: 0, written, dirty: false };
}

const total = ({ allowed, rateDenied, quotaDenied }: Pick<DayCounts, 'allowed' | 'rateDenied' | 'quotaDenied'>) =>
  allowed + rateDenied + quotaDenied;

export function createUsage(firstIncarnation: Id): Usage {
  let incarnation = firstIncarnation;
  let today: CalendarDay | undefined;
  let own = new Map<Id, OwnCounts>();
  let dirty: DayCounts[] = [];
  let outstanding: { batch: UsageBatch; days: DayCounts[] } | undefined;
  let batches = 0;
  let usageOfOthers = new Map<Id, number>();
  let othersCalendar: CalendarDay | undefined;

  const mark = (day: DayCounts) => {
    if (day.dirty) return;
    day.dirty = true;
    dirty.push(day);
  };

  const find = (key: CountedKey): OwnCounts | undefined => {
    if (!key.counts?.current) key.counts = own.get(key.id);
    return key.counts;
  };

  const countsOf = (key: CountedKey, calendar: CalendarDay): OwnCounts => {
    const { week, month } = calendar.start;
    let counts = find(key);
    if (!counts) {
      const today = emptyDay(key.id, calendar.day);
      counts = { today, week, month, allowedInWeek: 0, allowedInMonth: 0, current: true };
      own.set(key.id, counts);
      key.counts = counts;
    } else if (counts.today.day !== calendar.day) {
      // The counts of the previous day stay in the dirty set until they are written.
      counts.today = emptyDay(key.id, calendar.day);
      if (counts.week !== week) counts.allowedInWeek = 0;
      if (counts.month !== month) counts.allowedInMonth = 0;
      counts.week = week;
      counts.month = month;
    }
    return counts;
  };

  const ownAllowed = (key: CountedKey, period: Period, { day, start }: CalendarDay): number => {
    const counts = find(key);
    if (!counts) return 0;
    if (period === 'day') return counts.today.day === day ? counts.today.allowed : 0;
    if (period === 'week') return counts.week === start.week ? counts.allowedInWeek : 0;
    return counts.month === start.month ? counts.allowedInMonth : 0;
  };

  const confirm = ({ batch, days }: { batch: UsageBatch; days: DayCounts[] }) => {
    const { allowed, rateDenied, quotaDenied } = batch.columns;
    days.forEach(({ written }, row) => {
      written.allowed = allowed[row] ?? 0;
      written.rateDenied = rateDenied[row] ?? 0;
      written.quotaDenied = quotaDenied[row] ?? 0;
    });
  };

  return {
    incarnation: () => incarnation,
    calendar(wall) {
      if (!today || wall >= today.end.day) today = calendarDay(wall);
      return today;
    },
    allowed(key, period, calendar) {
      // Counts of another period do not apply to the current one, which has just started.
      const current = othersCalendar?.start[period] === calendar.start[period];
      return ownAllowed(key, period, calendar) + (current ? (usageOfOthers.get(key.id) ?? 0) : 0);
    },
    countAllowed(key, calendar) {
      const counts = countsOf(key, calendar);
      counts.today.allowed++;
      counts.allowedInWeek++;
      counts.allowedInMonth++;
      mark(counts.today);
    },
    countRateDenied(key, calendar) {
      const { today: day } = countsOf(key, calendar);
      day.rateDenied++;
      mark(day);
    },
    countQuotaDenied(key, calendar) {
      const { today: day } = countsOf(key, calendar);
      day.quotaDenied++;
      mark(day);
    },

    batch(maxRows) {
      if (outstanding) return outstanding.batch;
      if (dirty.length === 0) return undefined;
      const days = dirty.splice(0, maxRows);
      for (const day of days) day.dirty = false;
      const columns: UsageColumns = {
        keyIds: days.map(({ keyId }) => keyId),
        days: days.map(({ day }) => day),
        allowed: days.map(({ allowed }) => allowed),
        rateDenied: days.map(({ rateDenied }) => rateDenied),
        quotaDenied: days.map(({ quotaDenied }) => quotaDenied),
      };
      outstanding = { batch: { incarnation, number: ++batches, columns }, days };
      return outstanding.batch;
    },
    written(batch) {
      // The incarnation was renewed, which has handled its batch.
      if (outstanding?.batch !== batch) return;
      confirm(outstanding);
      outstanding = undefined;
    },
    size: () => own.size,
    pending: () => outstanding !== undefined || dirty.length > 0,

    replaceOthers(rows, calendar) {
      usageOfOthers = new Map(rows);
      othersCalendar = calendar;
    },
    updateOthers(rows, calendar) {
      if (othersCalendar?.day !== calendar.day) return;
      for (const { keyId, allowed } of rows) {
        if (allowed === 0) usageOfOthers.delete(keyId);
        else usageOfOthers.set(keyId, allowed);
      }
    },
    othersCalendar: () => othersCalendar,

    outrun: (wall) => today !== undefined && wall < today.start.day - slipMs,
    rewrite() {
      for (const { today: day } of own.values()) if (total(day) > 0) mark(day);
    },
    renew(next, lastBatch, calendar) {
      if (outstanding && lastBatch >= outstanding.batch.number) confirm(outstanding);
      const days = new Set([...dirty, ...(outstanding?.days ?? [])]);
      for (const counts of own.values()) {
        days.add(counts.today);
        counts.current = false;
      }
      incarnation = next;
      batches = 0;
      outstanding = undefined;
      dirty = [];
      own = new Map();
      today = calendar;
      for (const day of days) {
        const moved = emptyDay(day.keyId, day.day > calendar.day ? calendar.day : day.day);
        moved.allowed = day.allowed - day.written.allowed;
        moved.rateDenied = day.rateDenied - day.written.rateDenied;
        moved.quotaDenied = day.quotaDenied - day.written.quotaDenied;
        if (total(moved) > 0) take(moved, calendar);
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
    const started = Date.parse(moved.day);
    const counts = countsOf({ id: moved.keyId, counts: undefined }, calendar);
    if (moved.day === calendar.day) {
      counts.today.allowed += moved.allowed;
      counts.today.rateDenied += moved.rateDenied;
      counts.today.quotaDenied += moved.quotaDenied;
      mark(counts.today);
    } else {
      mark(moved);
    }
    if (started >= calendar.start.week) counts.allowedInWeek += moved.allowed;
    if (started >= calendar.start.month) counts.allowedInMonth += moved.allowed;
  }
}
