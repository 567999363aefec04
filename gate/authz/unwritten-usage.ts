import type { Id } from '../../runtime/domain/ids.ts';
import { dayMs } from '../../runtime/domain/period.ts';
import type { UsageColumns } from './gate-store.ts';
import type { KeySlots } from './key-slots.ts';
import { NumberRecords } from './paged.ts';

/** What is counted; the numbers are fields of a row. */
export const counted = { allowed: 0, rateDenied: 1, quotaDenied: 2 } as const;
type Counted = (typeof counted)[keyof typeof counted];
const kinds: readonly Counted[] = [0, 1, 2];

const idBytes = 16;

/** The further fields of a row: what the store has of each count, the key, the day, its state, and the row that waits next. */
const [writtenField, slotField, dayField, stateField, nextField, fieldCount] = [3, 6, 7, 8, 9, 10] as const;

/** Bits of a row's state: it has counts that are in no batch yet; its batch may be unwritten; it gets no more counts. */
const [waits, isSent, hasEnded] = [1, 2, 4] as const;

/**
 * A batch to write. It is repeated unchanged until its outcome is known, and its columns are valid until then: the next
 * batch uses the same memory.
 */
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

/** Memory for the rows and columns of a batch, which all batches use. */
interface BatchMemory extends UsageColumns {
  rows: Int32Array;
}

function batchMemory(maxRows: number): BatchMemory {
  return {
    rows: new Int32Array(maxRows),
    keyIds: Buffer.alloc(idBytes * maxRows),
    days: new Int32Array(maxRows),
    allowed: new Float64Array(maxRows),
    rateDenied: new Float64Array(maxRows),
    quotaDenied: new Float64Array(maxRows),
  };
}

/** Its first rows. */
function firstRows({ rows, keyIds, days, allowed, rateDenied, quotaDenied }: BatchMemory, length: number): BatchMemory {
  return {
    rows: rows.subarray(0, length),
    keyIds: keyIds.subarray(0, idBytes * length),
    days: days.subarray(0, length),
    allowed: allowed.subarray(0, length),
    rateDenied: rateDenied.subarray(0, length),
    quotaDenied: quotaDenied.subarray(0, length),
  };
}

export function createUnwrittenUsage(firstIncarnation: Id, keys: KeySlots): UnwrittenUsage {
  const rows = new NumberRecords(fieldCount);
  let incarnation = firstIncarnation;
  let batches = 0;
  let last = 0;
  let freed: number[] = [];
  /**
   * The first and the last row that waits for a batch; 0 when none does. Each names the next one. A list, given up and grown
   * again every second, would be garbage that V8 collects in pauses of milliseconds, and so would new memory for each batch.
   */
  let [first, latest] = [0, 0];
  let pending = 0;
  let memory = batchMemory(0);
  let outstanding: { batch: UsageBatch; rows: Int32Array } | undefined;

  const state = (row: number) => rows.get(row, stateField);
  const mark = (row: number) => {
    if (state(row) & waits) return;
    if (!(state(row) & isSent)) pending++;
    rows.set(row, stateField, state(row) | waits);
    if (first === 0) first = row;
    else rows.set(latest, nextField, row);
    latest = row;
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
  const pendingRows = () => {
    const all = new Set(outstanding?.rows);
    for (let row = first; row !== 0; row = rows.get(row, nextField)) all.add(row);
    return all;
  };

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
      if (first === 0) return undefined;
      // No row is in a batch, so that all that are pending wait for one.
      const length = Math.min(maxRows, pending);
      if (length > memory.rows.length) memory = batchMemory(length);
      const { rows: batchRows, ...columns } = firstRows(memory, length);
      for (let index = 0; index < length; index++) {
        const row = first;
        first = rows.get(row, nextField);
        rows.set(row, nextField, 0);
        rows.set(row, stateField, (state(row) & ~waits) | isSent);
        batchRows[index] = row;
        keys.copyId(rows.get(row, slotField), columns.keyIds, idBytes * index);
        columns.days[index] = rows.get(row, dayField) / dayMs;
        columns.allowed[index] = rows.get(row, counted.allowed);
        columns.rateDenied[index] = rows.get(row, counted.rateDenied);
        columns.quotaDenied[index] = rows.get(row, counted.quotaDenied);
      }
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
      [first, latest] = [0, 0];
      pending = 0;
      outstanding = undefined;
      return parts.filter(({ counts }) => counts.some((count) => count > 0));
    },
  };
}
