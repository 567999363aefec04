import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { listeners } from '../../listening-sockets.ts';
import { parseStat, type ProcessStat } from '../../process-record.ts';

/** In the environment of everything that a container starts: which one, as `<pod uid>/<container>`. */
export const containerVariable = 'SVC_CONTAINER';

export type ProcessTable = ReadonlyMap<number, ProcessStat>;

/** All processes of the machine; those that end meanwhile are left out, and so are zombies. */
export function processTable(): ProcessTable {
  return new Map(
    pids().flatMap((pid) => {
      const stat = parseStat(textOf(`/proc/${pid}/stat`));
      return stat === undefined || stat.state === 'Z' || stat.state === 'X' ? [] : [[pid, stat] as const];
    }),
  );
}

/** A process with its group and all that descend from those, in a table. */
export function familyOf(table: ProcessTable, leader: number): number[] {
  const family = new Set<number>();
  const children = Map.groupBy(table.keys(), (pid) => table.get(pid)?.parent ?? 0);
  const waiting = [...table.keys()].filter((pid) => pid === leader || table.get(pid)?.group === leader);
  for (let pid = waiting.pop(); pid !== undefined; pid = waiting.pop()) {
    if (family.has(pid)) continue;
    family.add(pid);
    waiting.push(...(children.get(pid) ?? []));
  }
  return [...family];
}

/** Processes whose environment says that they belong to a container, or to any of a pod. Reads every process: rarely. */
export function markedProcesses(isOurs: (container: string) => boolean): number[] {
  return pids().filter((pid) => {
    const marked = textOf(`/proc/${pid}/environ`)
      .split('\0')
      .find((variable) => variable.startsWith(`${containerVariable}=`));
    return marked !== undefined && isOurs(marked.slice(containerVariable.length + 1));
  });
}

/** Kills a container's processes, those that left its group too, until none is left. */
export function killContainer(leader: number, container: string): void {
  // One that forks while the list is made is found in the next round.
  for (let round = 0; round < 10; round++) {
    const family = new Set([...familyOf(processTable(), leader), ...markedProcesses((id) => id === container)]);
    if (family.size === 0) return;
    for (const pid of family) signal(pid, 'SIGKILL');
  }
}

/** Sends a signal; a process that is gone is no error. */
export function signal(pid: number, name: NodeJS.Signals): void {
  attempt(() => process.kill(pid, name), false);
}

/** The size of a page of memory in bytes. */
export function pageSize(): number {
  return Number(execFileSync('getconf', ['PAGESIZE'], { encoding: 'utf8' }));
}

/** What a process uses of memory in bytes, its share of what it has in common with others included. */
export function proportionalBytes(pid: number): number {
  const [, kilobytes] = /^Pss:\s+(\d+) kB/m.exec(textOf(`/proc/${pid}/smaps_rollup`)) ?? [];
  return Number(kilobytes ?? 0) * 1024;
}

/** Ports at which any of these processes listens, from the kernel's tables. */
export function listeningPorts(family: readonly number[]): number[] {
  const sockets = new Set(
    family.flatMap((pid) => {
      const folder = `/proc/${pid}/fd`;
      const links = attempt(() => readdirSync(folder), []).map((name) => linkOf(`${folder}/${name}`));
      return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
    }),
  );
  const open = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listeners(textOf(file)));
  return open.filter(({ inode }) => sockets.has(inode)).map(({ port }) => port);
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

/** What a process says that may end at any moment. */
function attempt<T>(ask: () => T, otherwise: T): T {
  try {
    return ask();
  } catch {
    return otherwise;
  }
}
