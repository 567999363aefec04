import { readFileSync } from 'node:fs';

/** Names one process for good: a number alone may belong to another process later. */
export interface ProcessRecord {
  readonly name: string;
  readonly pid: number;
  /** When it started, in clock ticks since the machine did. */
  readonly startTicks: string;
  /** The kernel's id of this boot: ticks say nothing across a restart. */
  readonly bootId: string;
}

/** What /proc/<pid>/stat says of a process, as far as it matters. */
export interface ProcessStat {
  state: string;
  parent: number;
  group: number;
  startTicks: string;
  residentPages: number;
}

/**
 * Reads the text of /proc/<pid>/stat.
 * @returns undefined when it is not of that form
 */
export function parseStat(text: string): ProcessStat | undefined {
  // The command's name is in parentheses and may hold anything, parentheses and spaces too.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const [state, parent, group] = fields;
  const startTicks = fields[19];
  if (state === undefined || startTicks === undefined) return undefined;
  return { state, parent: Number(parent), group: Number(group), startTicks, residentPages: Number(fields[21] ?? 0) };
}

/** The record of a process that runs now, or undefined when there is none (or only a zombie). */
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

/** Whether the very process that was recorded still runs. */
export function isAlive(record: ProcessRecord): boolean {
  const current = identify(record.name, record.pid);
  return current !== undefined && current.startTicks === record.startTicks && current.bootId === record.bootId;
}
