import type { Clock } from '../../../runtime/domain/clock.ts';
import { familyOf, pageSize, processTable, proportionalBytes } from './process-table.ts';

/** How often the containers with a limit are measured, all at once. */
const periodMs = 1000;

/** Measures what containers use and tells of those that use more than they may. */
export interface MemoryWatch {
  /** Watches a container until the answer is called. */
  add(container: { leader: number; limitBytes: number; onExceeded: () => void }): () => void;
  stop(): Promise<void>;
}

type Watched = Parameters<MemoryWatch['add']>[0] & {
  /** The least that its processes added up to since the last exact look, which found no more than the limit; in bytes. */
  passedBytes: number;
};

/** Measures only while there is something to measure. */
export function createMemoryWatch(clock: Clock): MemoryWatch {
  const watched = new Set<Watched>();
  const stopping = new AbortController();
  const bytesPerPage = pageSize();
  let running: Promise<void> | undefined;

  const measure = () => {
    const table = processTable();
    for (const container of watched) {
      const family = familyOf(table, container.leader);
      const sum = (bytes: (pid: number) => number) => family.reduce((total, pid) => total + bytes(pid), 0);
      const resident = sum((pid) => (table.get(pid)?.residentPages ?? 0) * bytesPerPage);
      container.passedBytes = Math.min(container.passedBytes, resident);
      if (resident <= Math.max(container.limitBytes, container.passedBytes + container.limitBytes / 32)) continue;
      // Memory that processes share was counted for each of them; this is exact, and costs so much that it is only done
      // where something has grown.
      if (sum(proportionalBytes) <= container.limitBytes) {
        container.passedBytes = resident;
        continue;
      }
      watched.delete(container);
      container.onExceeded();
    }
  };

  const run = async () => {
    while (watched.size > 0 && !stopping.signal.aborted) {
      measure();
      await clock.sleep(periodMs, stopping.signal).catch(() => undefined);
    }
    running = undefined;
  };

  return {
    add(given) {
      const container = { ...given, passedBytes: 0 };
      watched.add(container);
      running ??= run();
      return () => watched.delete(container);
    },
    async stop() {
      stopping.abort(new Error('the node was stopped'));
      await running;
    },
  };
}
