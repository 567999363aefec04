import type { Id } from '../../runtime/domain/ids.ts';
import type { UsageColumns } from './gate-store.ts';

interface Counts {
  allowed: number;
  rateDenied: number;
  quotaDenied: number;
}

/** The counts of one key and day in the current incarnation, and the part of them that the store has. */
export interface DayCounts extends Counts {
  readonly keyId: Id;
  /** `YYYY-MM-DD`. */
  readonly day: string;
  readonly written: Counts;
  /** Whether it has counts to write that are in no batch yet. */
  dirty: boolean;
}

/** A batch to write. It is repeated unchanged until its outcome is known. */
export interface UsageBatch {
  incarnation: Id;
  /** Counted from 1 in each incarnation. */
  number: number;
  columns: UsageColumns;
}

/** The counts of one incarnation that the store does not have yet. */
export interface UnwrittenUsage {
  incarnation(): Id;
  /** Call after every change of the counts. */
  mark(day: DayCounts): void;
  /**
   * The next batch, with at most `maxRows` rows; the previous one until its outcome was reported. Undefined when there
   * is nothing to write.
   */
  batch(maxRows: number): UsageBatch | undefined;
  /** Reports that the batch is in the store; ignored for a batch of an earlier incarnation. */
  written(batch: UsageBatch): void;
  /** Whether any counts are not in the store yet. */
  pending(): boolean;
  /**
   * Starts over for a new incarnation, without any counts.
   * @param lastBatch the number of the previous incarnation's last batch that the store has
   * @returns the previous incarnation's counts that may have an unwritten part
   */
  restart(incarnation: Id, lastBatch: number): Iterable<DayCounts>;
}

export function emptyDay(keyId: Id, day: string): DayCounts {
  const written = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
  return { keyId, day, allowed: 0, rateDenied: 0, quotaDenied: 0, written, dirty: false };
}

/** Whether any request was counted. */
export function hasCounts({ allowed, rateDenied, quotaDenied }: Counts): boolean {
  return allowed + rateDenied + quotaDenied > 0;
}

/** The unwritten part of the counts, for the new incarnation that writes it as part of `day`. */
export function unwrittenPart(counts: DayCounts, day: string): DayCounts {
  const part = emptyDay(counts.keyId, day);
  part.allowed = counts.allowed - counts.written.allowed;
  part.rateDenied = counts.rateDenied - counts.written.rateDenied;
  part.quotaDenied = counts.quotaDenied - counts.written.quotaDenied;
  return part;
}

export function createUnwrittenUsage(firstIncarnation: Id): UnwrittenUsage {
  let incarnation = firstIncarnation;
  let batches = 0;
  let dirty: DayCounts[] = [];
  let outstanding: { batch: UsageBatch; days: DayCounts[] } | undefined;

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
    mark(day) {
      if (day.dirty) return;
      day.dirty = true;
      dirty.push(day);
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
      if (outstanding?.batch !== batch) return;
      confirm(outstanding);
      outstanding = undefined;
    },
    pending: () => outstanding !== undefined || dirty.length > 0,
    restart(next, lastBatch) {
      if (outstanding && lastBatch >= outstanding.batch.number) confirm(outstanding);
      const days = new Set([...dirty, ...(outstanding?.days ?? [])]);
      incarnation = next;
      batches = 0;
      dirty = [];
      outstanding = undefined;
      return days;
    },
  };
}
