import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Marks a step at which a test may kill the process. */
export type Failpoint = (name: string) => void;

/**
 * Failpoints that are armed by files: when `<dir>/<name>` exists, deletes it and kills the process with SIGKILL, like a
 * crash at this step. Does nothing without a folder, as in production.
 */
export function createFailpoints(dir: string | undefined): Failpoint {
  if (dir === undefined) return () => undefined;
  return (name) => {
    const file = join(dir, name);
    if (!existsSync(file)) return;
    // Deleted first, so that the restarted process passes this step.
    rmSync(file);
    process.kill(process.pid, 'SIGKILL');
  };
}
