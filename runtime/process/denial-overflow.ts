import type { Clock } from '../domain/clock.ts';
import type { Denial } from './denial.ts';

const everyMs = 1_000;
/** Maximum kinds of denials of a second that are counted each by itself. */
const kindsMax = 100;

/** Denials that share everything that an entry shows. */
interface CountedDenials {
  denial: Denial;
  count: number;
}

/** Counts denials that get no entries of their own, and writes the counts once a second while there are any. */
export interface DenialOverflow {
  add(denial: Denial): void;
  /** Writes the pending counts. */
  close(): void;
}

export interface DenialOverflowOptions {
  clock: Clock;
  /** Writes one count; false when the output dropped the entry, and the count is then added to the next second's. */
  write: (counted: CountedDenials) => boolean;
  /** The same for the number of denials that nothing else is known of. */
  writeLost: (count: number) => boolean;
  /** Called for each of those. */
  onLost: () => void;
}

/**
 * Counts by client, key and reason, up to 100 kinds a second. What a flood sends beyond that is lost but for its number.
 */
export function createDenialOverflow({ clock, write, writeLost, onLost }: DenialOverflowOptions): DenialOverflow {
  const closing = new AbortController();
  let kinds = new Map<string, CountedDenials>();
  const lost = { count: 0 };
  let waiting = false;

  const writeAll = () => {
    const pending = kinds;
    kinds = new Map();
    for (const [kind, counted] of pending) if (!write(counted)) kinds.set(kind, counted);
    if (lost.count > 0 && writeLost(lost.count)) lost.count = 0;
  };

  const wait = async () => {
    waiting = true;
    while ((kinds.size > 0 || lost.count > 0) && !closing.signal.aborted) {
      await clock.sleep(everyMs, closing.signal).catch(() => undefined);
      if (!closing.signal.aborted) writeAll();
    }
    waiting = false;
  };

  return {
    add(denial) {
      const { reason, fault, clientIp, keyPrefix, app } = denial;
      const kind = [reason, fault, clientIp, keyPrefix, app].join('\n');
      const counted = kinds.get(kind);
      if (counted) counted.count++;
      else if (kinds.size < kindsMax) kinds.set(kind, { denial, count: 1 });
      else {
        lost.count++;
        onLost();
      }
      if (!waiting) void wait();
    },
    close() {
      closing.abort();
      writeAll();
    },
  };
}
