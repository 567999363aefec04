import { readdirSync, readFileSync } from 'node:fs';
import { parseStat } from '../../../infra/process-record.ts';

/** The usage of a process and its descendants. */
export interface Usage {
  /** Proportional set size: shared pages are divided among their processes. */
  megabytes: number;
  /** Since each began, including its children that have ended. */
  cpuSeconds: number;
  /** By size, the largest first. */
  processes: { command: string; megabytes: number; cpuSeconds: number }[];
}

/** `getconf CLK_TCK` on Linux. */
const ticksPerSecond = 100;

/** Reads /proc: https://man7.org/linux/man-pages/man5/proc_pid_smaps.5.html, `smaps_rollup`. */
export function usageOf(pid: number): Usage {
  const processes = treeOf(pid).map((member) => ({
    command: read(`/proc/${member}/cmdline`).replaceAll('\0', ' ').slice(0, 90),
    megabytes: proportionalMegabytes(member),
    cpuSeconds: cpuSeconds(member),
  }));
  const sum = (of: 'megabytes' | 'cpuSeconds') => processes.reduce((total, each) => total + each[of], 0);
  return {
    megabytes: sum('megabytes'),
    cpuSeconds: sum('cpuSeconds'),
    processes: processes.toSorted((a, b) => b.megabytes - a.megabytes),
  };
}

function treeOf(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parseStat(read(`/proc/${name}/stat`))?.parent;
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (pid: number): number[] => [pid, ...(children.get(pid) ?? []).flatMap(below)];
  return below(root);
}

function proportionalMegabytes(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}

/** utime, stime, cutime and cstime. */
function cpuSeconds(pid: number): number {
  const text = read(`/proc/${pid}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / ticksPerSecond;
}

/** Empty when the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
