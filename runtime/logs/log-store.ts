import type { LogFeed } from './feed.ts';
import type { LogQuery } from './query.ts';
import type { StoredLine } from './record.ts';

/** Lines to add at once. */
export interface LogBatch {
  /**
   * Who sends it, and its number. A number at or below the sender's last one is acknowledged without being stored again.
   */
  shipper?: { name: string; sequence: number } | undefined;
  /** Records from outside; those that are none are counted and left out. */
  records: readonly unknown[];
}

/** Why lines are not in the store. */
export type DropReason = 'invalid' | 'expired' | 'disk_full';

export interface LogStoreStatus {
  /** Bytes of the segments and their maximum. */
  bytes: number;
  maxBytes: number;
  retentionHours: number;
  /** Whether the last write failed because the disk is full. */
  diskFull: boolean;
  /** Lines that were not stored since the start of the process. */
  dropped: Record<DropReason, number>;
  namespaces: Record<
    string,
    {
      bytes: number;
      oldest: string;
      newest: string;
      /** Bytes that were deleted before the end of the retention, because the store is full. */
      evictedBytes: number;
    }
  >;
}

/** A place in the lines of a workload: the lines after it, in the direction of the query, are still to be read. */
export type LogCursor = Pick<StoredLine, 'time' | 'id'>;

/** Lines of a workload. */
interface LogReading {
  /** Lines before this time are deleted. */
  keptSince: string;
  /** Sorted by time, in batches. Ends early when the signal aborts, with an error. */
  batches: AsyncGenerator<StoredLine[]>;
}

/** Bounds what one reading costs. */
export interface ReadBudget {
  /** Called with the bytes that were examined. */
  spend(bytes: number): void;
  /** Whether the reading is to end. It may examine a few more blocks before it does. */
  isSpent(): boolean;
}

interface StoreReading extends LogReading {
  batches: AsyncGenerator<StoredLine[], LogCursor | undefined>;
}

/** What readers need of a store; the client has it, too. */
export interface LogReader {
  /** @throws Error when the store does not answer */
  read(query: LogQuery, signal: AbortSignal): Promise<LogReading>;
}

/** Keeps the lines that containers printed (docs/decisions/0060). */
export interface LogStore extends LogReader, LogFeed {
  /** Reads what is stored. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** As a reader. With a budget, the batches may end early; they then return where to continue. */
  read(query: LogQuery, signal: AbortSignal, budget?: ReadBudget): Promise<StoreReading>;
  /** @throws StoreBusy when the lines are not stored, and the same batch can be sent again; BatchTooLarge */
  append(batch: LogBatch): Promise<void>;
  status(): LogStoreStatus;
  /** Deletes what is too old or too much; called by a timer. */
  clean(): Promise<void>;
  /** Counts lines that their sender gives up. */
  countDropped(reason: DropReason, lines: number): void;
  /** Whether it is started. */
  isReady(): boolean;
}

/** A batch that the store never takes: it is to be sent in parts. */
export class BatchTooLarge extends Error {
  override readonly name = 'BatchTooLarge';
}

/** There is no log store, because an admin has disabled it. */
export class LogStoreDisabled extends Error {
  override readonly name = 'LogStoreDisabled';
  constructor() {
    super('the log store is disabled');
  }
}

/** The store takes no lines at the moment. */
export class StoreBusy extends Error {
  override readonly name = 'StoreBusy';
  readonly reason: 'behind' | 'disk_full' | 'stopped';
  constructor(reason: StoreBusy['reason']) {
    super(`the log store takes no lines: ${reason}`);
    this.reason = reason;
  }
}
