import { readFileSync } from 'node:fs';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { familyOf, pageSize, processTable } from './process-table.ts';

/** How often the containers with a limit are measured, all at once. */
const periodMs = 1000;

/** Measures what containers use and tells of those that use more than they may. */
export interface MemoryWatch {
  /** Watches a container until the answer is called. */
  add(container: { leader: number; limitBytes: number; onExceeded: (usedBytes: number) => void }): () => void;
  stop(): Promise<void>;
}

/** Measures only while there is something to measure. */
export function createMemoryWatch(clock: Clock): MemoryWatch {
  const watched = new Set<Parameters<MemoryWatch['add']>[0]>();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let bytesPerPage: number | undefined;

  const measure = () => {
    bytesPerPage ??= pageSize();
    const table = processTable();
    for (const container of watched) {
      const family = familyOf(table, container.leader);
      const resident = family.reduce((sum, pid) => sum + (table.get(pid)?.residentPages ?? 0), 0) * bytesPerPage;
      if (resident <= container.limitBytes) continue;
      // Memory that processes share was counted for each of them; this costs more and is exact.
      const used = family.reduce((sum, pid) => sum + proportionalBytes(pid), 0);
      if (used <= container.limitBytes) continue;
      watched.delete(container);
      container.onExceeded(used);
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
    add(container) {
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

/** What a process uses of memory, its share of what it has in common with others included. */
function proportionalBytes(pid: number): number {
  try {
    const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')) ?? [];
    return Number(kilobytes ?? 0) * 1024;
  } catch {
    // It ended.
    return 0;
  }
}
