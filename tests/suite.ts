import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** How many tests and checks came out how. */
export interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** A run of tests and checks that shows how it gets on and adds up what came out. */
export interface Suite {
  totals: Totals;
  /** One line, with the time since the start. */
  say: (line: string) => void;
  /** Runs a program of node_modules that passes or fails as a whole. */
  check(name: string, program: string, args: string[]): Promise<void>;
  /**
   * Runs test files with tap, shows a line a file and every failure whole, and adds up the counts.
   * @param beside what stands before every line, where another run goes on at the same time: tap keeps what it needs in
   * a folder of the one that it runs in, so that this one gets its own
   */
  tests(name: string, args: string[], env: NodeJS.ProcessEnv, beside?: string): Promise<void>;
  /** Does something that fails as a whole when it throws. @returns whether it was done */
  attempt(name: string, work: () => Promise<unknown>): Promise<boolean>;
  /** Repeats what failed, prints the last line, `N passed, N failed, N skipped`, and sets the exit code. */
  end(): void;
}

const root = join(import.meta.dirname, '..');
const binaries = join(root, 'node_modules/.bin');

/** Runs a program of node_modules with its output shown; resolves with its exit code. */
function run(
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  onLine?: (line: string) => void,
  cwd = root,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(binaries, program), args, {
      cwd,
      env: { ...process.env, ...env },
      stdio: ['ignore', onLine ? 'pipe' : 'inherit', 'inherit'],
    });
    let rest = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) onLine?.(line);
    });
    child.once('error', reject);
    child.once('close', (code) => {
      if (rest) onLine?.(rest);
      resolve(code ?? 1);
    });
  });
}

/** Runs something in a folder that has all that this checkout has, by links, and nothing that a run leaves behind. */
async function inFolderBeside<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  try {
    for (const name of readdirSync(root).filter((each) => each !== '.tap')) {
      symlinkSync(join(root, name), join(folder, name));
    }
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** tap runs without its TypeScript plugin (Node strips the types), so its test class is built once for this checkout. */
async function buildTap(): Promise<void> {
  const built = join(root, 'node_modules/.tap-built');
  if (existsSync(built)) return;
  await run('tap', ['build'], {}, () => undefined);
  writeFileSync(built, '');
}

export function createSuite(): Suite {
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  const started = performance.now();
  const say = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(5);
    process.stdout.write(`[${seconds} s] ${line}\n`);
  };
  const faults: string[] = [];
  const fault = (line: string) => {
    totals.failed++;
    faults.push(line);
    say(line);
  };
  return {
    totals,
    say,
    async check(name, program, args) {
      say(name);
      const code = await run(program, args, {});
      if (code === 0) totals.passed++;
      else fault(`${name}: failed`);
    },
    async tests(name, args, env, beside) {
      await buildTap();
      say(name);
      let counted = false;
      let failed = 0;
      let failing = false;
      const label = beside === undefined ? '' : `${beside}: `;
      const onLine = (line: string) => {
        const summary =
          /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, skip: (\d+))?(?:, todo: (\d+))? \}$/.exec(line);
        if (summary) {
          counted = true;
          totals.passed += Number(summary[2]);
          failed += Number(summary[3] ?? 0);
          totals.skipped += Number(summary[4] ?? 0) + Number(summary[5] ?? 0);
        }
        // A failed assertion is shown with its details, up to the next result.
        if (/^\s*not ok /.test(line)) {
          failing = true;
          faults.push(`${label}${line}`);
        }
        if (/^\s*ok /.test(line) || /^\s*# Subtest/.test(line)) failing = false;
        if (failing || /^(not )?ok \d+ - /.test(line)) process.stdout.write(`${label}${line}\n`);
      };
      const tap = (folder?: string) =>
        run('tap', ['--reporter=tap', '--disable-coverage', ...args], env, onLine, folder);
      const code = beside === undefined ? await tap() : await inFolderBeside(tap);
      totals.failed += failed;
      if (!counted || (code !== 0 && failed === 0)) {
        fault(
          counted
            ? `${name}: no test failed, and tap ended with code ${code}: look at what it does before and after the tests`
            : `${name}: tap ended with code ${code} before it could count`,
        );
      }
    },
    async attempt(name, work) {
      say(name);
      try {
        await work();
        return true;
      } catch (error) {
        fault(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        return false;
      }
    },
    end() {
      if (faults.length > 0) process.stdout.write(`What failed, once more:\n${faults.join('\n')}\n`);
      process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
      process.exitCode = totals.failed > 0 ? 1 : 0;
    },
  };
}
