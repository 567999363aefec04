import type { Column } from './output.ts';

/** How long lists show that a workload ran out of memory. */
const recentMs = 24 * 3_600_000;

interface WorkloadStatus {
  message?: string | undefined;
  outOfMemory?: { at: string; message: string } | undefined;
}

/**
 * The last column of a list of workloads: the message, or that the workload ran out of memory in the last day. Empty when
 * no workload has a message.
 */
export function messageColumn(workloads: readonly WorkloadStatus[], now: Date): Column<WorkloadStatus>[] {
  const value = ({ message, outOfMemory }: WorkloadStatus): string | undefined => {
    const recent = outOfMemory && now.getTime() - Date.parse(outOfMemory.at) < recentMs;
    return message ?? (recent ? outOfMemory.message : undefined);
  };
  return workloads.some((workload) => value(workload) !== undefined) ? [{ title: 'MESSAGE', value }] : [];
}

/** The volumes of a workload in the form of `--volume`; undefined for none. */
export function mountsText(volumes: readonly { name: string; path: string }[]): string | undefined {
  return volumes.map(({ name, path }) => `${name}:${path}`).join(', ') || undefined;
}
