import { execFileSync } from 'node:child_process';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { workloadMetrics } from '../../../runtime/metrics/figures.ts';
import { labelsText, workloadOf } from '../../../runtime/metrics/workload-of.ts';
import type { NodePod } from './pod-spec.ts';
import { pageSize, processFamily, processTable, type ProcessTable } from './process-table.ts';

/** A container that runs. */
interface Running {
  pod: Pick<Stored<NodePod>, 'metadata'>;
  leader: number;
}

/** Measures what workloads use. */
export interface UsageMeter {
  /**
   * The CPU time that each workload has used so far, and its memory now, in Prometheus's text format. CPU time never falls,
   * also when pods end.
   */
  measure(containers: readonly Running[]): string;
}

/** @param table reads all processes; for tests */
export function createUsageMeter(table: () => ProcessTable = processTable): UsageMeter {
  const bytesPerPage = pageSize();
  const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  /** CPU time of each container when it was measured last, by its first process. */
  let measured = new Map<string, number>();
  let totals = new Map<string, number>();
  return {
    measure(containers) {
      const processes = table();
      const before = measured;
      const totalsBefore = totals;
      measured = new Map();
      totals = new Map();
      const memory = new Map<string, number>();
      for (const { pod, leader } of containers) {
        const workload = workloadOf(pod.metadata);
        if (!workload) continue;
        const labels = labelsText(workload);
        const family = processFamily(processes, leader).flatMap((pid) => processes.get(pid) ?? []);
        const ticks = family.reduce((sum, { cpuTicks }) => sum + cpuTicks, 0);
        const pages = family.reduce((sum, { residentPages }) => sum + residentPages, 0);
        const container = `${leader} ${processes.get(leader)?.startTicks ?? ''}`;
        measured.set(container, ticks);
        const used = Math.max(0, ticks - (before.get(container) ?? 0));
        totals.set(labels, (totals.get(labels) ?? totalsBefore.get(labels) ?? 0) + used / ticksPerSecond);
        memory.set(labels, (memory.get(labels) ?? 0) + pages * bytesPerPage);
      }
      const lines = [...totals].map(([labels, seconds]) => `${workloadMetrics.cpu}${labels} ${seconds}\n`);
      return [...lines, ...[...memory].map(([labels, bytes]) => `${workloadMetrics.memory}${labels} ${bytes}\n`)].join(
        '',
      );
    },
  };
}
