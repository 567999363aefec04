import { readFileSync } from 'node:fs';
import { attempt } from './command.ts';
import { ClusterProblem } from './problem.ts';

/** Mount points at or below a folder, as /proc/self/mountinfo lists them, the last mounted first. Pure. */
export function mountsUnder(mountinfo: string, folder: string): string[] {
  return mountinfo
    .split('\n')
    .flatMap((line) => line.split(' ')[4] ?? [])
    .map((path) => path.replace(/\\([0-7]{3})/g, (_match, digits: string) => String.fromCharCode(parseInt(digits, 8))))
    .filter((path) => path === folder || path.startsWith(`${folder}/`))
    .toReversed();
}

/**
 * Unmounts everything below a folder.
 * @throws ClusterProblem when something stays mounted: removing the folder would then delete the mounted files
 */
export async function unmountAll(folder: string): Promise<void> {
  const mounted = (): string[] => mountsUnder(readFileSync('/proc/self/mountinfo', 'utf8'), folder);
  // Each pass can reveal mounts that a later mount at the same place had hidden.
  for (let pass = 0; pass < 5 && mounted().length > 0; pass += 1) {
    // Lazy, since a process that is ending may still use the mount.
    await attempt('umount', ['--lazy', '--', ...mounted()]);
  }
  const remaining = mounted();
  if (remaining.length > 0) throw new ClusterProblem(`Cannot unmount: ${remaining.join(', ')}`);
}
