import { readFileSync } from 'node:fs';

/** Identifies a process uniquely. A process id alone may be reused. */
export interface ProcessRecord {
  readonly name: string;
  readonly pid: number;
  /** The start time, in clock ticks since boot. */
  readonly startTicks: string;
  /** The kernel's id of this boot: ticks are not comparable across boots. */
  readonly bootId: string;
}

/** Fields of /proc/<pid>/stat. */
export interface ProcessStat {
  state: string;
  parent: number;
  group: number;
  startTicks: string;
  residentPages: number;
  /** CPU time of the process and of its children that have ended. */
  cpuTicks: number;
}

/**
 * Reads the text of /proc/<pid>/stat.
 * @returns undefined for any other format
 */
export function parseStat(text: string): ProcessStat | undefined {
  // The command's name is in parentheses and may itself contain parentheses and spaces.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  // utime, stime, cutime and cstime of proc(5).
  const cpuTicks = fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
  return {
    state,
    parent: Number(parent),
    group: Number(group),
    startTicks,
    residentPages: Number(fields[21] ?? 0),
    cpuTicks,
  };
}

/** The record of a running process, or undefined when there is none or only a zombie. */
export function identify(name: string, pid: number): ProcessRecord | undefined {
  try {
    const stat = parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8'));
    if (stat === undefined || stat.state === 'Z' || stat.state === 'X') return undefined;
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    return { name, pid, startTicks: stat.startTicks, bootId };
  } catch {
    return undefined;
  }
}

/** Whether the recorded process still runs. */
export function isAlive(record: ProcessRecord): boolean {
  const current = identify(record.name, record.pid);
  return current !== undefined && current.startTicks === record.startTicks && current.bootId === record.bootId;
}
