import type { Clock } from '../../runtime/domain/clock.ts';
import type { Decision, KeyFault } from './verdict.ts';

const everyMs = 1_000;

/** Denials of one kind without entries of their own. */
export interface SummedDenials {
  reason: Decision;
  /** Of `deny_key`. */
  fault: KeyFault | undefined;
  count: number;
}

/** Counts denials and writes the counts once a second while there are any. */
export interface DenialSummary {
  add(reason: Decision, fault: KeyFault | undefined): void;
  /** Writes the pending counts. */
  close(): void;
}

/** @param write returns false when the output dropped the entry; the count is then added to the next second's */
export function createDenialSummary(clock: Clock, write: (summed: SummedDenials) => boolean): DenialSummary {
  const closing = new AbortController();
  let sums = new Map<string, SummedDenials>();
  let waiting = false;

  const writeAll = () => {
    const pending = sums;
    sums = new Map();
    for (const [kind, summed] of pending) if (!write(summed)) sums.set(kind, summed);
  };

  const wait = async () => {
    waiting = true;
    while (sums.size > 0 && !closing.signal.aborted) {
      await clock.sleep(everyMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) writeAll();
    }
    waiting = false;
  };

  return {
    add(reason, fault) {
      const kind = fault ?? reason;
      const summed = sums.get(kind);
      if (summed) summed.count++;
      else sums.set(kind, { reason, fault, count: 1 });
      if (!waiting) void wait();
    },
    close() {
      closing.abort();
      writeAll();
    },
  };
}
