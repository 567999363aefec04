import type { Id } from '../../runtime/domain/ids.ts';
import { calendarDay, type CalendarDay, type Period } from '../../runtime/domain/period.ts';
import type { KeySlots } from './key-slots.ts';
import { createOthersUsage, type OthersReading } from './others-usage.ts';
import { NumberRecords } from './paged.ts';
import { counted, createUnwrittenUsage, type UnwrittenPart, type UsageBatch } from './unwritten-usage.ts';

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
  allowed(slot: number, period: Period, calendar: CalendarDay): number;
  countAllowed(slot: number, calendar: CalendarDay): void;
  countRateDenied(slot: number, calendar: CalendarDay): void;
  countQuotaDenied(slot: number, calendar: CalendarDay): void;

  /**
   * The next batch, with at most `maxRows` rows; the previous one until its outcome was reported. Undefined when there
   * is nothing to write.
   */
  batch(maxRows: number): UsageBatch | undefined;
  /** Reports that the batch is in the store. */
  written(batch: UsageBatch): void;
  /** The number of keys with counts in memory. */
  size(): number;
  /** The number of rows that are not in the store yet. */
  pending(): number;

  /** Begins a reading of the other replicas' counts. */
  readOthers(): OthersReading;
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
  /** Frees the slots of keys that are deleted and have no counts here. @param exists whether the slot's key exists */
  freeSlots(exists: (slot: number) => boolean): void;
}

/** The wall clock may go back this far without a renewal, as clock synchronization does. */
const slipMs = 60_000;

/** What is kept for each key: its row of counts (0 for none), and the requests allowed in the row's week and month. */
const [rowField, weekField, monthField, fieldCount] = [0, 1, 2, 3] as const;

export function createUsage(firstIncarnation: Id, keys: KeySlots): Usage {
  const rows = createUnwrittenUsage(firstIncarnation, keys);
  const others = createOthersUsage(keys);
  const own = new NumberRecords(fieldCount);
  let size = 0;
  let today: CalendarDay | undefined;

  /** The key's row of the calendar's day. The row of an earlier day stays unwritten until it is in a batch. */
  const rowOf = (slot: number, { start }: CalendarDay): number => {
    const row = own.get(slot, rowField);
    if (row === 0) {
      size++;
    } else {
      const day = rows.day(row);
      if (day === start.day) return row;
      rows.end(row);
      if (day < start.week) own.set(slot, weekField, 0);
      if (day < start.month) own.set(slot, monthField, 0);
    }
    const next = rows.open(slot, start.day);
    own.set(slot, rowField, next);
    return next;
  };

  const addToPeriods = (slot: number, day: number, allowed: number, { start }: CalendarDay) => {
    if (day >= start.week) own.set(slot, weekField, own.get(slot, weekField) + allowed);
    if (day >= start.month) own.set(slot, monthField, own.get(slot, monthField) + allowed);
  };

  const ownAllowed = (slot: number, period: Period, { start }: CalendarDay): number => {
    const row = own.get(slot, rowField);
    // Days only advance, so a row that is not older than the period is of the period.
    if (row === 0 || rows.day(row) < start[period]) return 0;
    return period === 'day' ? rows.allowed(row) : own.get(slot, period === 'week' ? weekField : monthField);
  };

  /** Counts the unwritten part of another incarnation, for the periods that it belongs to. */
  const take = ({ slot, day, counts }: UnwrittenPart, calendar: CalendarDay) => {
    const current = rowOf(slot, calendar);
    const row = day === calendar.start.day ? current : rows.open(slot, day);
    for (const kind of Object.values(counted)) rows.count(row, kind, counts[kind] ?? 0);
    if (row !== current) rows.end(row);
    addToPeriods(slot, day, counts[counted.allowed] ?? 0, calendar);
  };

  function* usedSlots(): Generator<{ slot: number; row: number }> {
    for (let slot = 1; slot <= keys.last(); slot++) {
      const row = own.get(slot, rowField);
      if (row !== 0) yield { slot, row };
    }
  }

  return {
    incarnation: () => rows.incarnation(),
    calendar(wall) {
      if (!today || wall >= today.end.day) today = calendarDay(wall);
      return today;
    },
    allowed: (slot, period, calendar) => ownAllowed(slot, period, calendar) + others.allowed(slot, period, calendar),
    countAllowed(slot, calendar) {
      rows.count(rowOf(slot, calendar), counted.allowed, 1);
      addToPeriods(slot, calendar.start.day, 1, calendar);
    },
    countRateDenied: (slot, calendar) => rows.count(rowOf(slot, calendar), counted.rateDenied, 1),
    countQuotaDenied: (slot, calendar) => rows.count(rowOf(slot, calendar), counted.quotaDenied, 1),

    batch: (maxRows) => rows.batch(maxRows),
    written: (batch) => rows.written(batch),
    size: () => size,
    pending: () => rows.pending(),

    readOthers: () => others.read(),
    othersCalendar: () => others.calendar(),

    outrun: (wall) => today !== undefined && wall < today.start.day - slipMs,
    rewrite() {
      for (const { row } of usedSlots()) rows.rewrite(row);
    },
    renew(next, lastBatch, calendar) {
      const parts = rows.restart(next, lastBatch);
      own.clear();
      size = 0;
      today = calendar;
      for (const part of parts) take({ ...part, day: Math.min(part.day, calendar.start.day) }, calendar);
    },
    forget({ start }) {
      const before = size;
      for (const { slot, row } of usedSlots()) {
        if (rows.day(row) >= Math.min(start.week, start.month) || rows.waits(row)) continue;
        rows.end(row);
        own.reset(slot);
        size--;
      }
      return before - size;
    },
    freeSlots(exists) {
      const pending = rows.pendingSlots();
      const isUsed = (slot: number) => exists(slot) || own.get(slot, rowField) !== 0 || pending.has(slot);
      keys.free((slot) => {
        const used = isUsed(slot);
        if (!used) others.reset(slot);
        return used;
      });
    },
  };
}
