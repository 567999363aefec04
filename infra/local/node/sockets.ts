import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { listeners } from '../../listening-sockets.ts';

/** Ports at which any of these processes listens, from the kernel's tables. */
export function listeningPorts(pids: readonly number[]): number[] {
  const sockets = new Set(pids.flatMap(socketsOf));
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    listeners(textOf(file))
      .filter(({ inode }) => sockets.has(inode))
      .map(({ port }) => port),
  );
}

function socketsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
      const [, inode] = /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${descriptor}`)) ?? [];
      return inode === undefined ? [] : [inode];
    });
  } catch {
    return [];
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
