import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Marks a step at which a test may kill the process. */
export type Failpoint = (name: string) => void;

/**
 * Failpoints armed by files: when `<dir>/<name>` exists, it is removed and the process kills itself with SIGKILL, as a
 * crash at that very step would. Without a folder (in production) it does nothing.
 */
export function createFailpoints(dir: string | undefined): Failpoint {
  if (dir === undefined) return () => undefined;
  return (name) => {
    const file = join(dir, name);
    if (!existsSync(file)) return;
    // Removed first, so that the next life of the process gets past this step.
    rmSync(file);
    process.kill(process.pid, 'SIGKILL');
  };
}
