import { readFileSync } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlive, type ProcessRecord } from '../../process-record.ts';
import { killContainer, markedProcesses, signal } from './process-table.ts';

/** The names of a container's record in its folder. */
export const recordName = 'process.json';

/**
 * Ends what a node that was killed left running: the very processes that it recorded with all that descend from them, and
 * whatever carries a mark of one of the pods. Nothing else is touched, whatever number it has.
 * @param pods the folder of all pods, `<pod uid>/containers/<container>/process.json` in it
 * @returns how many containers were still running
 */
export async function endOrphans(pods: string): Promise<number> {
  const uids = new Set(await readdir(pods).catch(() => []));
  let ended = 0;
  for (const uid of uids) {
    const containers = join(pods, uid, 'containers');
    for (const name of await readdir(containers).catch(() => [])) {
      const file = join(containers, name, recordName);
      const record = read(file);
      if (record && isAlive(record)) {
        killContainer(record.pid, record.name);
        ended += 1;
      }
      await rm(file, { force: true });
    }
  }
  // Started, and not recorded in the moment of the kill; or left by a leader that has ended.
  for (const pid of markedProcesses((container) => uids.has(container.split('/')[0] ?? ''))) signal(pid, 'SIGKILL');
  return ended;
}

function read(file: string): ProcessRecord | undefined {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) as ProcessRecord | null) ?? undefined;
  } catch {
    return undefined;
  }
}
