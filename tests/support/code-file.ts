import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A file with a function's code, removed when the test ends. Outside tap's own folders, which a test shares with itself
 * when it runs on both targets at once. @returns its path
 */
export function codeFile(t: { teardown(end: () => unknown): void }, name: string, code: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-code-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, name);
  writeFileSync(file, code);
  return file;
}
