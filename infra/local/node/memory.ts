import type { Clock } from '../../../runtime/domain/clock.ts';
import { processFamily, pageSize, processTable, proportionalBytes } from './process-table.ts';

/** How often the containers with a memory limit are measured. */
const periodMs = 1000;

/** Measures the memory of containers and reports those over their limit. */
export interface MemoryWatch {
  /** Watches a container. @returns a function that ends the watch */
  add(container: { leader: number; limitBytes: number; onExceeded: () => void }): () => void;
  stop(): Promise<void>;
}

type Watched = Parameters<MemoryWatch['add']>[0] & {
  /** The smallest sum of its processes' resident memory since the last exact measurement, in bytes. */
  passedBytes: number;
};

/** Measures only while it watches a container. */
export function createMemoryWatch(clock: Clock): MemoryWatch {
  const watched = new Set<Watched>();
  const stopping = new AbortController();
  const bytesPerPage = pageSize();
  let running: Promise<void> | undefined;

  const measure = () => {
    const table = processTable();
    for (const container of watched) {
      const family = processFamily(table, container.leader);
      const sum = (bytes: (pid: number) => number) => family.reduce((total, pid) => total + bytes(pid), 0);
      const residentBytes = (pid: number) => (table.get(pid)?.residentPages ?? 0) * bytesPerPage;
      const resident = sum(residentBytes);
      container.passedBytes = Math.min(container.passedBytes, resident);
      if (resident <= Math.max(container.limitBytes, container.passedBytes + container.limitBytes / 32)) continue;
      // Resident memory counts shared pages once per process. The exact measurement is expensive, so it is made only
      // after growth.
      if (sum((pid) => proportionalBytes(pid) ?? residentBytes(pid)) <= container.limitBytes) {
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
    add(watchedContainer) {
      const container = { ...watchedContainer, passedBytes: 0 };
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
