import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** Others may pass through a folder. */
const passable = 0o001;

/**
 * The nearest folder above `folder` that only its owner may pass; undefined when everybody can reach `folder`, or will once
 * the folders that are missing are made.
 */
export function closedAncestor(folder: string): string | undefined {
  const parent = dirname(folder);
  if (parent === folder) return undefined;
  const closed = ((statSync(parent, { throwIfNoEntry: false })?.mode ?? passable) & passable) === 0;
  return closed ? parent : closedAncestor(parent);
}
