import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file with a function's code, gone when the test ends. Not in tap's own folders: where the same test runs on both
 * targets at once, it would have the same one. @returns its path
 */
export function codeFile(t: { teardown(end: () => unknown): void }, name: string, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-code-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  writeFileSync(file, code);
  return file;
}
