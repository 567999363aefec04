import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { createServer } from 'node:net';
import { listeners } from '../listening-sockets.ts';
import { ClusterProblem } from './problem.ts';

/** A port that the cluster needs. */
export interface RequiredPort {
  readonly name: string;
  readonly port: number;
}

/**
 * Checks that all ports are free on 127.0.0.1.
 * @throws ClusterProblem with each used port and, if known, the process that uses it
 */
export async function requireFreePorts(requirements: readonly RequiredPort[]): Promise<void> {
  const conflicts: string[] = [];
  for (const { name, port } of requirements) {
    if (!(await isFree(port)))
      conflicts.push(`port ${port} (${name}) is in use by ${holderOf(port) ?? 'another process'}`);
  }
  if (conflicts.length > 0)
    throw new ClusterProblem(`These ports of the test cluster are in use:\n  ${conflicts.join('\n  ')}`);
}

/** Whether nothing listens at a port of 127.0.0.1. */
export function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => server.close(() => resolve(true)));
  });
}

/** Inodes of the sockets that listen at a port, from the text of /proc/net/tcp or tcp6. Pure. */
export function listenersAt(table: string, port: number): string[] {
  return listeners(table)
    .filter((socket) => socket.port === port)
    .map(({ inode }) => inode);
}

function holderOf(port: number): string | undefined {
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => listenersAt(readText(file), port));
  const links = new Set(inodes.map((inode) => `socket:[${inode}]`));
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const holds = readdirSync(`/proc/${pid}/fd`).some((fd) => links.has(readlinkSync(`/proc/${pid}/fd/${fd}`)));
      if (holds) return `${readText(`/proc/${pid}/comm`).trim()} (process ${pid})`;
    } catch {
      // The process has ended or closed the file.
    }
  }
  return undefined;
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
