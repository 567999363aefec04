import type { Column } from './output.ts';

/** How long after it a kill for memory is what people should see first. */
const recentMs = 24 * 3_600_000;

interface Told {
  message?: string | undefined;
  outOfMemory?: { at: string; message: string } | undefined;
}

/**
 * The last column of a list of workloads, if there is anything to tell: what the platform says of each, or that it ran
 * out of memory within a day.
 */
export function messageColumn(workloads: readonly Told[], now: Date): Column<Told>[] {
  const value = ({ message, outOfMemory }: Told): string | undefined => {
    const recent = outOfMemory && now.getTime() - Date.parse(outOfMemory.at) < recentMs;
    return message ?? (recent ? outOfMemory.message : undefined);
  };
  return workloads.some((workload) => value(workload) !== undefined) ? [{ title: 'MESSAGE', value }] : [];
}
