import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { upCluster } from '../infra/testcluster/platform.ts';
import { down, paths } from '../infra/testcluster/cluster.ts';
import { lineProgress } from '../infra/testcluster/progress.ts';

/**
 * Everything that `npm test` runs, in its order: format, lint, types, then a real cluster with the platform on it, the
 * unit and integration tests, and the end-to-end suite. The last line reads `N passed, N failed, N skipped`.
 * `npm test -- --fast` leaves out what needs the cluster, and says so.
 */
interface Totals {
  passed: number;
  failed: number;
  skipped: number;
}

const root = join(import.meta.dirname, '..');
const binaries = join(root, 'node_modules/.bin');
const totals: Totals = { passed: 0, failed: 0, skipped: 0 };
const started = performance.now();

function say(line: string): void {
  const seconds = ((performance.now() - started) / 1000).toFixed(0).padStart(5);
  process.stdout.write(`[${seconds} s] ${line}\n`);
}

/** Runs a program of node_modules with its output shown; resolves with its exit code. */
function run(
  program: string,
  args: string[],
  env: NodeJS.ProcessEnv,
  onLine?: (line: string) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(binaries, program), args, {
      cwd: root,
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

async function check(name: string, program: string, args: string[]): Promise<void> {
  say(name);
  const code = await run(program, args, {});
  if (code === 0) totals.passed++;
  else {
    totals.failed++;
    say(`${name}: failed`);
  }
}

/** Runs test files with tap, shows a line a file and every failure whole, and adds up the counts. */
async function tests(name: string, args: string[], env: NodeJS.ProcessEnv): Promise<void> {
  say(name);
  let counted = false;
  let failing = false;
  const code = await run('tap', ['--reporter=tap', '--disable-coverage', ...args], env, (line) => {
    const summary = /^# \{ total: (\d+), pass: (\d+)(?:, fail: (\d+))?(?:, skip: (\d+))?(?:, todo: (\d+))? \}$/.exec(
      line,
    );
    if (summary) {
      counted = true;
      totals.passed += Number(summary[2]);
      totals.failed += Number(summary[3] ?? 0);
      totals.skipped += Number(summary[4] ?? 0) + Number(summary[5] ?? 0);
    }
    // A failed assertion is shown with its details, up to the next result.
    if (/^\s*not ok /.test(line)) failing = true;
    else if (/^\s*ok /.test(line) || /^\s*# Subtest/.test(line)) failing = false;
    if (failing || /^(not )?ok \d+ - /.test(line)) process.stdout.write(`${line}\n`);
  });
  if (!counted || (code !== 0 && totals.failed === 0)) {
    totals.failed++;
    say(`${name}: tap ended with code ${code} before it could count`);
  }
}

const fast = process.argv.includes('--fast');
const home = mkdtempSync(join(tmpdir(), 'svc-test-home-'));
mkdirSync(home, { recursive: true });

// tap runs without its TypeScript plugin (Node strips the types), so its test class is built once for this checkout.
const built = join(root, 'node_modules/.tap-built');
if (!existsSync(built)) {
  await run('tap', ['build'], {}, () => undefined);
  writeFileSync(built, '');
}

await check('format', 'prettier', ['--check', '--log-level', 'warn', '.']);
await check('lint', 'oxlint', ['--type-aware', '--deny-warnings', '--quiet']);
await check('types', 'tsc', ['--noEmit']);

let clusterEnv: NodeJS.ProcessEnv = {};
const whyNot = process.platform !== 'linux' || process.getuid?.() !== 0 ? 'the test cluster needs root on Linux' : '';
if (fast || whyNot) {
  say(`left out: everything on the real cluster (${fast ? '--fast' : whyNot})`);
  totals.skipped++;
  if (process.env['CI']) totals.failed++;
} else {
  try {
    say('a real cluster, with the platform installed');
    await upCluster({ folder: home, failpoints: true, log: say });
    clusterEnv = { SVC_TEST_KUBECONFIG: paths().kubeconfig, SVC_HOME: home };
  } catch (error) {
    totals.failed++;
    say(`the platform did not come up: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  }
}

await tests('unit and integration tests', ['--jobs=2'], clusterEnv);
if (clusterEnv['SVC_HOME']) {
  // One in its own project beside another; those that kill, replace or reconfigure what all use run alone.
  await tests('end-to-end tests on the real cluster', ['--jobs=2', ...endToEnd('*')], clusterEnv);
  await tests('end-to-end tests that disturb the platform', ['--jobs=1', ...endToEnd('disruptive/*')], clusterEnv);
}
if (!process.argv.includes('--keep') && !whyNot && !fast) {
  say('taking the cluster down');
  await down({ progress: lineProgress(say) });
}
rmSync(home, { recursive: true, force: true });

process.stdout.write(`${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped\n`);
process.exitCode = totals.failed > 0 ? 1 : 0;

/**
 * The end-to-end files are excluded from the ordinary run and so named one by one. They wait for the cluster, and how long
 * that takes is the machine's matter: the limit, for a file, only ends what will never come.
 */
function endToEnd(files: string): string[] {
  return ['--exclude=', `--include=tests/e2e/${files}.test.ts`, '--timeout=1800'];
}
