import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { tapBundle } from './support/tap-bundle.ts';
import { runTestFiles, type FileResult, type TestRun } from './test-files.ts';

interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

/** A program of node_modules that passes or fails as a whole. */
export interface Check {
  name: string;
  program: string;
  args: readonly string[];
}

/** A run of tests and checks that prints its progress and counts the results. */
export interface Suite {
  totals: Totals;
  /** Prints one line with the time since the start. */
  say: (line: string) => void;
  /** Runs checks side by side where the memory allows it. Prints the output of each when it ends. */
  checks(checks: readonly Check[]): Promise<void>;
  /**
   * Runs test files, prints a line per file and every failure in full, and adds up the counts.
   * @param options.label printed before each line. A run with a label gets its own folder, so that it can run the same
   * files as another beside it: tap keeps their state in the folder they run in
   * @param options.background whether other work gets the processors first; default no
   */
  tests(
    name: string,
    testRun: TestRun,
    env: NodeJS.ProcessEnv,
    options?: { label?: string; background?: boolean },
  ): Promise<void>;
  /** Runs a step that fails as a whole when it throws. @returns whether it succeeded */
  attempt(name: string, work: () => Promise<unknown>): Promise<boolean>;
  /** Prints the slowest files, the tests' figures, the failures and the last line, `N passed, N failed, N skipped`, and sets the exit code. */
  end(): void;
}

const root = join(import.meta.dirname, '..');
const binaries = join(root, 'node_modules/.bin');
const slowestCount = 10;
/** Each file runs in a process of its own. A fifth of their time was the compilation of modules that most of them load. */
const compiled = { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled') };

/** The time that all processors together have been used, and have been there, in milliseconds since the machine started. */
function processorTimes(): { busy: number; all: number } {
  const times = cpus().map(({ times: { user, nice, sys, irq, idle } }) => ({ busy: user + nice + sys + irq, idle }));
  const busy = times.reduce((sum, one) => sum + one.busy, 0);
  return { busy, all: times.reduce((sum, one) => sum + one.idle, busy) };
}

/** What the checks take together at most, measured for this repository with some reserve. */
const checksBytes = 6 * 2 ** 30;

/** Of programs in Go, such as tsc: a quarter of its time was the collection of garbage, which one run does not need. */
const goMemory = { GOGC: 'off', GOMEMLIMIT: '2GiB' };

/** Runs a program of node_modules and resolves with its exit code. Each line of its output and errors goes to `onLine`. */
function run(
  program: string,
  args: readonly string[],
  onLine: (line: string) => void,
  env: NodeJS.ProcessEnv = {},
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(binaries, program), args, {
      cwd: root,
      env: { ...environment, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      let rest = '';
      stream.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString()).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) onLine(line);
      });
      stream.on('end', () => {
        if (rest) onLine(rest);
      });
    }
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });
}

/** Runs `work` in a folder with links to everything in this checkout except what a run of tap leaves behind. */
async function inLinkedFolder<Result>(work: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-tests-'));
  try {
    for (const name of readdirSync(root).filter((entry) => entry !== '.tap')) {
      symlinkSync(join(root, name), join(folder, name));
    }
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** What the programs of node_modules get: they start `node` by name, which is this checkout's, also when npm did not start us. */
const environment = { ...process.env, PATH: `${binaries}:${process.env['PATH'] ?? ''}` };

/**
 * tap runs without its TypeScript plugin (Node strips the types), so its test class is built once for this checkout. Half of
 * what a short test file takes is the loading of tap's modules, so they are bundled.
 */
async function buildTap(): Promise<void> {
  if (existsSync(tapBundle)) return;
  await run('tap', ['build'], () => undefined);
  await run('node', ['tests/support/bundle-tap.ts'], (line) => process.stderr.write(`${line}\n`));
}

/** The failed assertions, each with its details, up to the next result. */
function failuresOf(lines: readonly string[]): string[] {
  let failing = false;
  return lines.filter((line) => {
    if (/^\s*not ok /.test(line)) failing = true;
    else if (/^\s*(?:ok |# Subtest)/.test(line)) failing = false;
    return failing;
  });
}

export function createSuite(): Suite {
  const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
  const started = performance.now();
  const write = (line: string) => process.stdout.write(`${line}\n`);
  const say = (line: string) => {
    const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(5);
    write(`[${seconds} s] ${line}`);
  };
  const faults: string[] = [];
  const figures: string[] = [];
  const durations: { file: string; milliseconds: number }[] = [];
  const fail = (line: string) => {
    totals.failed++;
    faults.push(line);
    say(line);
  };
  const check = async ({ name, program, args }: Check) => {
    const startedAt = performance.now();
    const output: string[] = [];
    const code = await run(program, args, (line) => output.push(line), goMemory);
    say(`${name}: ${code === 0 ? 'ok' : 'failed'} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`);
    if (code === 0) totals.passed++;
    else fail(`${name}: failed\n${output.join('\n')}`);
  };
  return {
    totals,
    say,
    async checks(checks) {
      if (process.availableMemory() >= checksBytes) await Promise.all(checks.map(check));
      else for (const one of checks) await check(one);
    },
    async tests(name, testRun, env, { label, background = false } = {}) {
      await buildTap();
      say(name);
      const startedAt = performance.now();
      const before = processorTimes();
      const prefix = label === undefined ? '' : `${label}: `;
      let count = 0;
      const onEnd = ({ file, milliseconds, lines, counts, end }: FileResult) => {
        totals.passed += counts?.passed ?? 0;
        totals.failed += counts?.failed ?? 0;
        totals.skipped += counts?.skipped ?? 0;
        durations.push({ file: `${prefix}${file}`, milliseconds });
        for (const line of failuresOf(lines)) write(`${prefix}    ${line}`);
        faults.push(...lines.filter((line) => /^\s*not ok /.test(line)).map((line) => `${prefix}    ${line}`));
        for (const line of lines) {
          const [, figure] = /^\s*# figure (.+)$/.exec(line) ?? [];
          if (figure !== undefined) figures.push(`figure ${label === undefined ? '' : `${label}.`}${figure}`);
        }
        const passed = end === 0 && counts?.failed === 0;
        const result = `${prefix}${passed ? 'ok' : 'not ok'} ${++count} - ${file} # time=${milliseconds.toFixed(0)}ms`;
        write(result);
        if (!passed) faults.push(result);
        if (!counts)
          fail(`${prefix}${file}: ended with ${end} before it counted its results\n${lines.slice(-20).join('\n')}`);
        else if (end !== 0 && counts.failed === 0) fail(`${prefix}${file}: no test failed, but it ended with ${end}`);
      };
      const runIn = (cwd = root) =>
        runTestFiles(testRun, { cwd, env: { ...environment, ...compiled, ...env }, background }, onEnd);
      try {
        await (label === undefined ? runIn() : inLinkedFolder(runIn));
      } catch (error) {
        fail(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      }
      const after = processorTimes();
      const share = Math.round((100 * (after.busy - before.busy)) / (after.all - before.all));
      say(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(0)} s, processors ${share} % busy`);
    },
    async attempt(name, work) {
      say(name);
      try {
        await work();
        return true;
      } catch (error) {
        fail(`${name}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
        return false;
      }
    },
    end() {
      const slowest = durations.sort((a, b) => b.milliseconds - a.milliseconds).slice(0, slowestCount);
      if (slowest.length > 0) {
        write(`The ${slowest.length} slowest of ${durations.length} files:`);
        for (const { file, milliseconds } of slowest)
          write(`${(milliseconds / 1000).toFixed(1).padStart(7)} s ${file}`);
      }
      for (const figure of figures) write(figure);
      if (faults.length > 0) write(`Failures:\n${faults.join('\n')}`);
      write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`);
      process.exitCode = totals.failed > 0 ? 1 : 0;
    },
  };
}
