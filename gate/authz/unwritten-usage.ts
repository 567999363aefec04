import type { Id } from '../../runtime/domain/ids.ts';
import { utcDay } from '../../runtime/domain/period.ts';
import type { UsageColumns } from './gate-store.ts';
import type { KeySlots } from './key-slots.ts';
import { NumberRecords } from './paged.ts';

/** What is counted; the numbers are fields of a row. */
export const counted = { allowed: 0, rateDenied: 1, quotaDenied: 2 } as const;
type Counted = (typeof counted)[keyof typeof counted];
const kinds: readonly Counted[] = [0, 1, 2];

/** The further fields of a row: what the store has of each count, the key, the day, and the row's state. */
const [writtenField, slotField, dayField, stateField, fieldCount] = [3, 6, 7, 8, 9] as const;

/** Bits of a row's state: it has counts that are in no batch yet; its batch may be unwritten; it gets no more counts. */
const [waits, isSent, hasEnded] = [1, 2, 4] as const;

/** A batch to write. It is repeated unchanged until its outcome is known. */
export interface UsageBatch {
  incarnation: Id;
  /** Counted from 1 in each incarnation. */
  number: number;
  columns: UsageColumns;
}

/** The unwritten part of a row, in the order of {@link counted}. */
export interface UnwrittenPart {
  slot: number;
  /** The start of the day, in milliseconds since the epoch. */
  day: number;
  counts: readonly number[];
}

/**
 * The counts of one incarnation: a row for each key and its last day with requests, and for earlier days until they are
 * in the store. Rows are positive integers.
 */
export interface UnwrittenUsage {
  incarnation(): Id;
  /** A new row. @param day the start of the day, in milliseconds since the epoch */
  open(slot: number, day: number): number;
  day(row: number): number;
  allowed(row: number): number;
  count(row: number, kind: Counted, amount: number): void;
  /** Writes the row's counts again, if it has any. */
  rewrite(row: number): void;
  /** Whether the row has counts that are in no batch yet. */
  waits(row: number): boolean;
  /** The key's row of this day gets no more counts. It is freed once they are in the store. */
  end(row: number): void;
  /**
   * The next batch, with at most `maxRows` rows; the previous one until its outcome was reported. Undefined when there
   * is nothing to write.
   */
  batch(maxRows: number): UsageBatch | undefined;
  /** Reports that the batch is in the store; ignored for a batch of an earlier incarnation. */
  written(batch: UsageBatch): void;
  /** The number of rows with counts that are not in the store yet. */
  pending(): number;
  /** The keys of these rows. */
  pendingSlots(): ReadonlySet<number>;
  /**
   * Starts over for a new incarnation, without any rows.
   * @param lastBatch the number of the previous incarnation's last batch that the store has
   * @returns the previous incarnation's counts that the store does not have
   */
  restart(incarnation: Id, lastBatch: number): UnwrittenPart[];
}

export function createUnwrittenUsage(firstIncarnation: Id, keys: KeySlots): UnwrittenUsage {
  const rows = new NumberRecords(fieldCount);
  let incarnation = firstIncarnation;
  let batches = 0;
  let last = 0;
  let freed: number[] = [];
  /** Rows that wait for a batch; those before `taken` are in batches. */
  let waiting: number[] = [];
  let taken = 0;
  let pending = 0;
  let outstanding: { batch: UsageBatch; rows: readonly number[] } | undefined;

  const state = (row: number) => rows.get(row, stateField);
  const mark = (row: number) => {
    if (state(row) & waits) return;
    if (!(state(row) & isSent)) pending++;
    rows.set(row, stateField, state(row) | waits);
    waiting.push(row);
  };
  const release = (row: number) => {
    rows.reset(row);
    freed.push(row);
  };
  const confirm = (sent: NonNullable<typeof outstanding>) => {
    const { allowed, rateDenied, quotaDenied } = sent.batch.columns;
    const counts = [allowed, rateDenied, quotaDenied];
    sent.rows.forEach((row, index) => {
      for (const kind of kinds) rows.set(row, writtenField + kind, counts[kind]?.[index] ?? 0);
      rows.set(row, stateField, state(row) & ~isSent);
      if (!(state(row) & waits)) pending--;
      if (state(row) === hasEnded) release(row);
    });
  };
  const pendingRows = () => new Set([...waiting.slice(taken), ...(outstanding?.rows ?? [])]);

  return {
    incarnation: () => incarnation,
    open(slot, day) {
      const row = freed.pop() ?? ++last;
      rows.set(row, slotField, slot);
      rows.set(row, dayField, day);
      return row;
    },
    day: (row) => rows.get(row, dayField),
    allowed: (row) => rows.get(row, counted.allowed),
    count(row, kind, amount) {
      rows.set(row, kind, rows.get(row, kind) + amount);
      mark(row);
    },
    rewrite(row) {
      if (kinds.some((kind) => rows.get(row, kind) > 0)) mark(row);
    },
    waits: (row) => (state(row) & waits) !== 0,
    end(row) {
      if (state(row) === 0) release(row);
      else rows.set(row, stateField, state(row) | hasEnded);
    },
    batch(maxRows) {
      if (outstanding) return outstanding.batch;
      if (taken === waiting.length) return undefined;
      const batchRows = waiting.slice(taken, taken + maxRows);
      taken += batchRows.length;
      if (taken === waiting.length) [waiting, taken] = [[], 0];
      for (const row of batchRows) rows.set(row, stateField, (state(row) & ~waits) | isSent);
      const dayText = textOfDays();
      const columns: UsageColumns = {
        keyIds: batchRows.map((row) => keys.idOf(rows.get(row, slotField))),
        days: batchRows.map((row) => dayText(rows.get(row, dayField))),
        allowed: batchRows.map((row) => rows.get(row, counted.allowed)),
        rateDenied: batchRows.map((row) => rows.get(row, counted.rateDenied)),
        quotaDenied: batchRows.map((row) => rows.get(row, counted.quotaDenied)),
      };
      outstanding = { batch: { incarnation, number: ++batches, columns }, rows: batchRows };
      return outstanding.batch;
    },
    written(batch) {
      if (outstanding?.batch !== batch) return;
      confirm(outstanding);
      outstanding = undefined;
    },
    pending: () => pending,
    pendingSlots: () => new Set([...pendingRows()].map((row) => rows.get(row, slotField))),
    restart(next, lastBatch) {
      if (outstanding && lastBatch >= outstanding.batch.number) {
        confirm(outstanding);
        outstanding = undefined;
      }
      const parts = [...pendingRows()].map((row) => ({
        slot: rows.get(row, slotField),
        day: rows.get(row, dayField),
        counts: kinds.map((kind) => rows.get(row, kind) - rows.get(row, writtenField + kind)),
      }));
      rows.clear();
      incarnation = next;
      batches = 0;
      last = 0;
      freed = [];
      waiting = [];
      taken = 0;
      pending = 0;
      outstanding = undefined;
      return parts.filter(({ counts }) => counts.some((count) => count > 0));
    },
  };
}

/** Days as text. Most rows of a batch have the same day, and to write a date takes longer than all else for the row. */
function textOfDays(): (start: number) => string {
  const texts = new Map<number, string>();
  return (start) => {
    const text = texts.get(start) ?? utcDay(new Date(start));
    texts.set(start, text);
    return text;
  };
}
