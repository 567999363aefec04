import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { digestOf } from '../images/digest.ts';

const root = join(import.meta.dirname, '../..');
const digestFile = 'digest';

/** What the build reads: the pages, the rules that they share with the API, the build itself, and the packages. */
const inputs = ['functions/console/ui', 'infra/console', 'runtime/domain', 'runtime/contracts', 'package-lock.json'];

/** Where console-api finds the built web console. */
export const consoleFolder = join(root, 'functions/console/dist');

/**
 * Builds the web console unless this checkout's build is of the same sources. Several processes may do so at once. Without
 * Vite, which is not installed for production, it says so, and the platform runs without pages.
 * @throws Error with the output of a build that failed
 */
export async function buildConsole(log: (line: string) => void): Promise<void> {
  const digest = digestOf(root, inputs);
  if (builtDigest() === digest) return;
  if (!existsSync(join(root, 'node_modules/vite'))) {
    log('the web console is not built: npm installs Vite only with the development packages');
    return;
  }
  const started = performance.now();
  // On the same file system as its place, and in no folder that anything else reads.
  const part = mkdtempSync(join(root, 'node_modules/.console-'));
  // Others read it, such as the user of console-api's process.
  chmodSync(part, 0o755);
  try {
    await bundle(part);
    writeFileSync(join(part, digestFile), digest);
    // Another process may have put its own, which is equal.
    if (builtDigest() !== digest) replace(part);
  } finally {
    rmSync(part, { recursive: true, force: true });
  }
  log(`the web console is built (${((performance.now() - started) / 1000).toFixed(1)} s)`);
}

function builtDigest(): string | undefined {
  const file = join(consoleFolder, digestFile);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function replace(part: string): void {
  rmSync(consoleFolder, { recursive: true, force: true });
  try {
    renameSync(part, consoleFolder);
  } catch (error) {
    // Between the two steps, another process put its own.
    if (!['ENOTEMPTY', 'EEXIST'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  }
}

/** In a process of its own, since only a build needs Vite. */
async function bundle(target: string): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'bundle.ts'), target], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`The web console cannot be built:\n${output}${errors}`);
}
