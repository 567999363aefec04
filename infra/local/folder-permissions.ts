import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The mode bit that lets other users enter a folder. */
const enterableByOthers = 0o001;

/**
 * The nearest parent of `folder` that only its owner may enter, or undefined when every user can reach `folder`.
 * Parents that do not exist yet count as open.
 */
export function findClosedAncestor(folder: string): string | undefined {
  const parent = dirname(folder);
  if (parent === folder) return undefined;
  const isClosed = ((statSync(parent, { throwIfNoEntry: false })?.mode ?? enterableByOthers) & enterableByOthers) === 0;
  return isClosed ? parent : findClosedAncestor(parent);
}
