import type { Clock } from '../../runtime/domain/clock.ts';
import type { Decision, KeyFault } from './verdict.ts';

const everyMs = 1_000;

/** Denials of one kind that have no entry of their own. */
export interface SummedDenials {
  reason: Decision;
  /** Of `deny_key`. */
  fault: KeyFault | undefined;
  count: number;
}

/** Counts denials and tells their sums once a second, for as long as there are any. */
export interface DenialSummary {
  add(reason: Decision, fault: KeyFault | undefined): void;
  /** Tells what is left. */
  close(): void;
}

/** @param tell returns false when it could not be told: the count goes into the next second's */
export function createDenialSummary(clock: Clock, tell: (summed: SummedDenials) => boolean): DenialSummary {
  const closing = new AbortController();
  let sums = new Map<string, SummedDenials>();
  let waiting = false;

  const tellAll = () => {
    const told = sums;
    sums = new Map();
    for (const [kind, summed] of told) if (!tell(summed)) sums.set(kind, summed);
  };

  const wait = async () => {
    waiting = true;
    while (sums.size > 0 && !closing.signal.aborted) {
      await clock.sleep(everyMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) tellAll();
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
      tellAll();
    },
  };
}
