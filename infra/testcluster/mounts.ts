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
 * @throws ClusterProblem when something stays mounted: removing the folder would then remove what is mounted there
 */
export async function unmountAll(folder: string): Promise<void> {
  const mounted = (): string[] => mountsUnder(readFileSync('/proc/self/mountinfo', 'utf8'), folder);
  // One pass uncovers mounts below others that were mounted twice at one place.
  for (let pass = 0; pass < 5 && mounted().length > 0; pass += 1) {
    // Lazily, since a process that is just ending may still hold one.
    await attempt('umount', ['--lazy', '--', ...mounted()]);
  }
  const left = mounted();
  if (left.length > 0) throw new ClusterProblem(`cannot be unmounted: ${left.join(', ')}`);
}
