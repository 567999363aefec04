import { isDeepStrictEqual } from 'node:util';
import type { WorkloadProjection } from '../../runtime/records/workloads.ts';
import type { Life } from './state-space.ts';

/** The table `workloads` in memory, by id. */
export type WorkloadRows = Map<string, WorkloadProjection & { deleted: boolean }>;

/** The controllers' writes about their workloads in PostgreSQL, as writes that faults can hit. */
export function workloadRecords({ write }: Pick<Life, 'write'>, rows: WorkloadRows) {
  return {
    project: write('project', (workload: WorkloadProjection) => {
      const before = rows.get(workload.id);
      const after = { ...workload, deleted: before?.deleted ?? false };
      rows.set(workload.id, after);
      return !isDeepStrictEqual(before, after);
    }),
    markDeleted: write('markDeleted', (id: string) => {
      const row = rows.get(id);
      if (!row || row.deleted) return false;
      rows.set(id, { ...row, deleted: true });
      return true;
    }),
  };
}
