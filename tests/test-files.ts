import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, setPriority } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Which test files to run, and how. */
export interface TestRun {
  /** Relative to the root. */
  files: readonly string[];
  /** How many run side by side. */
  jobs: number;
  /** Ends a file that waits forever. */
  timeoutSeconds: number;
  /** Whether the files find private PostgreSQL and Redis servers; default yes. */
  servers?: boolean;
}

/** What a test file's process left. */
export interface FileResult {
  file: string;
  milliseconds: number;
  /** Its output without the last lines, which count. */
  lines: readonly string[];
  /** From the last line; undefined if it ended before. */
  counts: { passed: number; failed: number; skipped: number } | undefined;
  /** The exit code, or the signal that ended it. */
  end: number | string;
}

interface Surroundings {
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Whether other work gets the processors first. */
  background: boolean;
}

const root = join(import.meta.dirname, '..');

/**
 * Runs test files as tap does, each in a process of its own, without a runner that parses what they print: that and tap's
 * hooks took as long as a short file itself. A file that hangs times itself out, or is killed half a minute later.
 * @param onEnd called with each file's result, in the order in which they end
 * @throws Error when the servers do not start or stop
 */
export async function runTestFiles(
  { files, jobs, timeoutSeconds, servers = true }: TestRun,
  surroundings: Surroundings,
  onEnd: (result: FileResult) => void,
): Promise<void> {
  if (!(jobs >= 1)) throw new Error('the number of files that run side by side is at least 1');
  const script = async (name: string) => {
    const { lines, end } = await runFile(name, surroundings, 600);
    if (end !== 0) throw new Error(`${name} ended with ${end}: ${lines.join('\n')}`);
  };
  const left = [...files];
  const worker = async () => {
    for (let file = left.shift(); file !== undefined; file = left.shift()) {
      onEnd(await runFile(file, surroundings, timeoutSeconds));
    }
  };
  await script(servers ? 'tests/support/before.ts' : 'tests/e2e/before.ts');
  try {
    await Promise.all(Array.from({ length: jobs }, worker));
  } finally {
    if (servers) await script('tests/support/after.ts');
  }
}

async function runFile(
  file: string,
  { cwd, env, background }: Surroundings,
  timeoutSeconds: number,
): Promise<FileResult> {
  const startedAt = performance.now();
  const preload = join(root, 'tests/support/preload.ts');
  // With an id, tap leaves the counts to the runner that gave it.
  const { TAP_CHILD_ID: _, ...rest } = env;
  const child = spawn(process.execPath, [`--import=${preload}`, file], {
    cwd,
    env: { ...rest, TAP: '1', TAP_TIMEOUT: String(timeoutSeconds) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  // What it starts inherits the priority.
  if (background && child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
  const timer = setTimeout(() => child.kill('SIGKILL'), (timeoutSeconds + 30) * 1000);
  const lines: string[] = [];
  let counts: FileResult['counts'];
  createInterface({ input: child.stdout }).on('line', (line) => {
    const counted = countsOf(line);
    if (counted) counts = counted;
    else lines.push(line);
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  clearTimeout(timer);
  return { file, milliseconds: performance.now() - startedAt, lines, counts, end: signal ?? code ?? 1 };
}

/** The counts of a file, from the last line that tap prints; undefined for any other line. */
function countsOf(line: string): FileResult['counts'] {
  const counts = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, skip: (\d+))?(?:, todo: (\d+))? \}$/.exec(line);
  if (!counts) return undefined;
  const [, , passed = 0, failed = 0, skipped = 0, todo = 0] = counts.map((count) => Number(count ?? 0));
  return { passed, failed, skipped: skipped + todo };
}
