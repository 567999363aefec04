import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** Not below /tmp, which is a different folder inside a pod. */
const folders = join(import.meta.dirname, '../../.tap/folders');

/**
 * A folder for processes that still write while they are stopped: it is removed after all teardowns that the test
 * registered later, where tap's own is removed before. @returns its path
 */
export function ownFolder(t: { teardown(end: () => unknown): void }): string {
  mkdirSync(folders, { recursive: true });
  const folder = mkdtempSync(join(folders, 't-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
