import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { findClosedAncestor } from '../../infra/local/folder-permissions.ts';

/** Not below /tmp, which is a different folder inside a pod. */
const inProject = join(import.meta.dirname, '../../.tap/folders');
/** Pods of a node that runs as root have other users, who cannot enter a project below /root. */
const folders = findClosedAncestor(inProject) === undefined ? inProject : '/var/tmp/svc-tests';

/**
 * A folder for processes that still write while they are stopped: it is removed after all teardowns that the test
 * registered later, where tap's own is removed before. @returns its path
 */
export function ownFolder(t: { teardown(end: () => unknown): void }): string {
  mkdirSync(folders, { recursive: true });
  const folder = mkdtempSync(join(folders, 't-'));
  chmodSync(folder, 0o711);
  t.teardown(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}
