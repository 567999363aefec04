import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Not below /tmp, whose paths mean another folder to a pod. */
const folders = join(import.meta.dirname, '../../.tap/folders');

/**
 * A folder for what still writes while it is being stopped: it goes after everything that is torn down in this test and
 * was registered later, where tap's own goes before. @returns its path
 */
export function ownFolder(t: { teardown(end: () => unknown): void }): string {
  mkdirSync(folders, { recursive: true });
  const folder = mkdtempSync(join(folders, 't-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
