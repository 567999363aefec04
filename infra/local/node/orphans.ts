import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessRecord } from '../../process-record.ts';
import { killContainer, findMarkedProcesses, signal } from './process-table.ts';

/** The file name of a container's process record. */
export const recordName = 'process.json';

/**
 * Kills the containers that a killed node left running: the recorded processes with their descendants, and all
 * processes that are marked with one of the pods. Other processes are not touched, even if they reuse a process id.
 * @param pods the folder of all pods, with `<pod uid>/containers/<container>/process.json`
 * @returns the number of containers that were still running
 */
export async function killOrphans(pods: string): Promise<number> {
  const uids = new Set(await readdir(pods).catch(() => []));
  let killed = 0;
  for (const uid of uids) {
    const containers = join(pods, uid, 'containers');
    for (const name of await readdir(containers).catch(() => [])) {
      const file = join(containers, name, recordName);
      const record = read(file);
      if (record && isAlive(record)) {
        killContainer(record.pid, record.name);
        killed += 1;
      }
      await rm(file, { force: true });
    }
  }
  // Processes without a record: the node was killed before it wrote one, or their leader has ended.
  for (const pid of findMarkedProcesses((container) => uids.has(container.split('/')[0] ?? ''))) signal(pid, 'SIGKILL');
  return killed;
}

function read(file: string): ProcessRecord | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord | null) ?? undefined;
  } catch {
    return undefined;
  }
}
