import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const root = join(import.meta.dirname, '../..');
/**
 * Most of a start is loading modules, and some tests start many processes. A process that is killed leaves nothing there, so
 * `npm test` gives them what the processes of test files leave.
 */
const compileCache = process.env['NODE_COMPILE_CACHE'] ?? join(root, '.tap/compile-cache');

/** One of the platform's processes, started by a test. */
export interface PlatformProcess {
  child: ChildProcess;
  /** Resolves with the exit code or the signal that ended it. */
  ended: Promise<number | string | null>;
  /** Resolves when it has logged this message after the call. */
  logged: (msg: string) => Promise<void>;
  lines: string[];
}

/** Starts one of the platform's processes with only this environment and these options of Node.js; killed at the end of the test. */
export function startProcess(
  t: { teardown(end: () => unknown): void },
  main: string,
  env: Readonly<Record<string, string>>,
  options: readonly string[] = [],
): PlatformProcess {
  const child = spawn(process.execPath, [...options, main], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, ...env },
  });
  const ended = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | string | null);
  const lines: string[] = [];
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  t.teardown(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return {
    child,
    ended,
    lines,
    logged: (msg) =>
      new Promise((resolve) => {
        const checkLine = (line: string) => {
          if (!line.includes(`"msg":"${msg}"`)) return;
          output.off('line', checkLine);
          resolve();
        };
        output.on('line', checkLine);
      }),
  };
}
