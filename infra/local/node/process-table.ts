import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { listeners } from '../../listening-sockets.ts';
import { parseStat, type ProcessStat } from '../../process-record.ts';

/** Environment variable of all processes of a container: `<pod uid>/<container>`. */
export const containerVariable = 'SVC_CONTAINER';

export type ProcessTable = ReadonlyMap<number, ProcessStat>;

/** All processes of the machine except zombies and those that end during the call. */
export function processTable(): ProcessTable {
  return new Map(
    pids().flatMap((pid) => {
      const stat = parseStat(textOf(`/proc/${pid}/stat`));
      return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? [] : [[pid, stat] as const];
    }),
  );
}

/** A process, its group and all their descendants. */
export function processFamily(table: ProcessTable, leader: number): number[] {
  const family = new Set<number>();
  const children = Map.groupBy(table.keys(), (pid) => table.get(pid)?.parent ?? 0);
  const queue = [...table.keys()].filter((pid) => pid === leader || table.get(pid)?.group === leader);
  for (let pid = queue.pop(); pid !== undefined; pid = queue.pop()) {
    if (family.has(pid)) continue;
    family.add(pid);
    queue.push(...(children.get(pid) ?? []));
  }
  return [...family];
}

/** Processes that belong to a container by their environment. Reads every process of the machine, so call it rarely. */
export function findMarkedProcesses(isMatch: (container: string) => boolean): number[] {
  return pids().filter((pid) => {
    const mark = textOf(`/proc/${pid}/environ`)
      .split('\0')
      .find((variable) => variable.startsWith(`${containerVariable}=`));
    return mark !== undefined && isMatch(mark.slice(containerVariable.length + 1));
  });
}

/** Kills all processes of a container, including those that left its group. */
export function killContainer(leader: number, container: string): void {
  // A process that forks during one round is found in the next.
  for (let round = 0; round < 10; round++) {
    const family = new Set([
      ...processFamily(processTable(), leader),
      ...findMarkedProcesses((id) => id === container),
    ]);
    if (family.size === 0) return;
    for (const pid of family) signal(pid, 'SIGKILL');
  }
}

/** Kills all processes of the users that match, by real, effective or saved user id. */
export function killUsers(isMatch: (user: number) => boolean): void {
  // A process that forks during one round is found in the next.
  for (let round = 0; round < 10; round++) {
    const matching = pids().filter((pid) => usersOf(pid).some(isMatch));
    if (matching.length === 0) return;
    for (const pid of matching) signal(pid, 'SIGKILL');
  }
}

function usersOf(pid: number): number[] {
  const status = textOf(`/proc/${pid}/status`);
  const [, ids = ''] = /^Uid:\s+(.*)$/m.exec(status) ?? [];
  return /^State:\s+[ZX]/m.test(status) ? [] : ids.split(/\s+/).filter(Boolean).map(Number);
}

/** Sends a signal. A process that has ended is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  attempt(() => process.kill(pid, name), false);
}

/** The size of a memory page in bytes. */
export function pageSize(): number {
  return Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));
}

/**
 * A process's memory in bytes, with its share of the memory that it shares with others; undefined if it has ended, or if
 * it has another user and this process does not have CAP_SYS_PTRACE.
 */
export function proportionalBytes(pid: number): number | undefined {
  const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}

/** Ports on which any of these processes listens. */
export function listeningPorts(family: readonly number[]): number[] {
  const sockets = new Set(
    family.flatMap((pid) => {
      const folder = `/proc/${pid}/fd`;
      const links = attempt(() => readdirSync(folder), []).map((name) => linkOf(`${folder}/${name}`));
      return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
    }),
  );
  const allListeners = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listeners(textOf(file)));
  return allListeners.filter(({ inode }) => sockets.has(inode)).map(({ port }) => port);
}

function pids(): number[] {
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
}

function textOf(file: string): string {
  return attempt(() => readFileSync(file, 'utf8'), '');
}

function linkOf(path: string): string {
  return attempt(() => readlinkSync(path), '');
}

/** Reads something of a process that may end at any time. */
function attempt<T>(read: () => T, fallback: T): T {
  try {
    return read();
  } catch {
    return fallback;
  }
}
