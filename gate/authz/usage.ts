import type { Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { OthersRow, UsageColumns } from './gate-store.ts';

/** What this process counted for one key and day in its present incarnation, and how much of it is in the store. */
interface DayCounts {
  readonly keyId: Id;
  /** `YYYY-MM-DD`; only {@link Usage.renew} ever changes it. */
  day: string;
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
  written: { allowed: number; rateDenied: number; quotaDenied: number };
  /** Whether it is among those to write. */
  dirty: boolean;
}

/** One key's counts of this incarnation: those of its last day with traffic, and what was allowed in its periods. */
export interface OwnCounts {
  today: DayCounts;
  /** The starts of the week and month that the sums are of. */
  week: number;
  month: number;
  allowedInWeek: number;
  allowedInMonth: number;
  /** Whether they are still the key's; false for those of an earlier incarnation, and those that were forgotten. */
  kept: boolean;
}

/** A key whose counts are asked for at every request: it holds them, so that they need not be looked up. */
export interface CountedKey {
  readonly id: Id;
  /** {@link Usage}'s own; undefined at first. */
  counts: OwnCounts | undefined;
}

/** A batch to write. It is repeated as it is until it is known whether it was written. */
export interface UsageBatch {
  incarnation: Id;
  /** From 1, in each incarnation. */
  number: number;
  columns: UsageColumns;
}

/**
 * The usage of keys as one replica knows it: its own counts, exactly, and those of the others, as of the last poll.
 *
 * Counts are kept under an incarnation, which is written as absolute numbers per key and day: writing again never counts
 * twice. What is lost when the process is killed is what it counted since the last batch that was written: one flush
 * interval, and the length of an outage of the store, after 90 s of which the gate allows nothing more.
 *
 * Days only go forward within an incarnation. When the wall clock goes back to an earlier day, counts go on for the
 * later one until the feed has {@link renew | renewed} the incarnation.
 */
export interface Usage {
  incarnation(): Id;
  /** The day that requests count for. @param wall milliseconds since the epoch */
  calendar(wall: number): CalendarDay;
  /** What was allowed in the current period, by this replica and the others. */
  allowed(key: CountedKey, period: Period, calendar: CalendarDay): number;
  countAllowed(key: CountedKey, calendar: CalendarDay): void;
  countRateDenied(key: CountedKey, calendar: CalendarDay): void;
  countQuotaDenied(key: CountedKey, calendar: CalendarDay): void;

  /** The batch to write now, at most `maxRows` long; the last one again until its end is told. Undefined for none. */
  batch(maxRows: number): UsageBatch | undefined;
  /** The batch is in the store. */
  written(batch: UsageBatch): void;
  /** Keys with counts in memory. */
  size(): number;
  /** Whether anything is not yet in the store. */
  pending(): boolean;

  /** Replaces what is known of the others, as read for this calendar. */
  replaceOthers(rows: Iterable<readonly [Id, number]>, calendar: CalendarDay): void;
  /** Changes what is known of some keys; of a calendar other than the last replacement's it is ignored. */
  updateOthers(rows: readonly OthersRow[], calendar: CalendarDay): void;
  /** The calendar of the last replacement; another day needs another one. */
  othersCalendar(): CalendarDay | undefined;

  /** Whether the wall clock has gone back to an earlier day, by more than a slip. */
  outrun(wall: number): boolean;
  /** The store may have lost what was written (an older copy): what is in memory is written again. */
  rewrite(): void;
  /**
   * Goes on as another incarnation from `calendar` on; the last one must have been closed. What it had not written moves
   * over, that of later days to this one. In the same step tell what the others counted, among them the last one.
   * @param batches the number of the last batch that it wrote
   */
  renew(incarnation: Id, batches: number, calendar: CalendarDay): void;
  /** Forgets keys without counts in the current periods; call it once a day. @returns how many */
  forget(calendar: CalendarDay): number;
}

/** The wall clock may be set back so far without anything being renewed: it is usual around a synchronisation. */
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
  let others = new Map<Id, number>();
  let othersCalendar: CalendarDay | undefined;

  const mark = (day: DayCounts) => {
    if (day.dirty) return;
    day.dirty = true;
    dirty.push(day);
  };

  const find = (key: CountedKey): OwnCounts | undefined => {
    if (!key.counts?.kept) key.counts = own.get(key.id);
    return key.counts;
  };

  const countsOf = (key: CountedKey, calendar: CalendarDay): OwnCounts => {
    const { week, month } = calendar.start;
    let counts = find(key);
    if (!counts) {
      const today = emptyDay(key.id, calendar.day);
      counts = { today, week, month, allowedInWeek: 0, allowedInMonth: 0, kept: true };
      own.set(key.id, counts);
      key.counts = counts;
    } else if (counts.today.day !== calendar.day) {
      // The day that is over stays among the dirty ones until it is written.
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
      // What was read of another period says nothing of this one, which has only just begun.
      const current = othersCalendar?.start[period] === calendar.start[period];
      return ownAllowed(key, period, calendar) + (current ? (others.get(key.id) ?? 0) : 0);
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
      // A batch of an incarnation that has been renewed meanwhile was settled there.
      if (outstanding?.batch !== batch) return;
      confirm(outstanding);
      outstanding = undefined;
    },
    size: () => own.size,
    pending: () => outstanding !== undefined || dirty.length > 0,

    replaceOthers(rows, calendar) {
      others = new Map(rows);
      othersCalendar = calendar;
    },
    updateOthers(rows, calendar) {
      if (othersCalendar?.day !== calendar.day) return;
      for (const { keyId, allowed } of rows) {
        if (allowed === 0) others.delete(keyId);
        else others.set(keyId, allowed);
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
        counts.kept = false;
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
        counts.kept = false;
      }
      return before - own.size;
    },
  };

  /** Counts what another incarnation left, for the periods that it still belongs to. */
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
