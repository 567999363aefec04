import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../support/random.ts';
import { endServers } from '../support/servers.ts';
import { startTestServers } from '../support/test-servers.ts';
import { testSeed } from '../support/soak.ts';
import { readImportGraph, type ImportGraph } from '../support/import-graph.ts';
import { readCoverage, type Executed } from './coverage.ts';
import { mutantsOf, type Mutant } from './mutants.ts';

/**
 * `npm run mutate -- <folder or file> [--sample N] [--jobs N]`: changes the sources one place at a time, in copies of this
 * checkout, and runs the tests of the same folder under `tests/` that execute the changed place. Exits with 1 when fewer than 85 of
 * 100 changes fail a test. Survivors that no test can or should notice are listed in `survivors.json` with a reason.
 */
const requiredScore = 0.85;
const maxLimitMs = 180_000;
const root = join(import.meta.dirname, '../..');
const copied = [
  'cli',
  'functions',
  'gate',
  'infra',
  'runtime',
  'tests',
  'workers',
  'docs',
  'package.json',
  'tsconfig.json',
];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, jobs: { type: 'string', default: '2' } },
});
const [target] = positionals;
if (target === undefined) {
  process.stderr.write('usage: npm run mutate -- <folder or file> [--sample N] [--jobs N]\n');
  process.exitCode = 2;
} else {
  // Tests run in process groups of their own, which `exit` ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  await mutate(target.replace(/\/$/, ''));
}

async function mutate(target: string): Promise<void> {
  const graph = readImportGraph(root);
  const sources = graph.files.filter((file) => file.endsWith('.ts') && `${file}/`.startsWith(`${target}/`));
  const seed = testSeed();
  const mutants = chosen(
    sources.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), 'utf8'))),
    seed,
  );
  const say = (line: string) => process.stdout.write(`${line}\n`);
  say(`${mutants.length} mutants of ${sources.length} files (seed ${seed})`);
  const accepted = JSON.parse(readFileSync(join(import.meta.dirname, 'survivors.json'), 'utf8')) as Record<
    string,
    string
  >;
  let [killed, overdue, excused, invalid] = [0, 0, 0, 0];
  await startTestServers(process.pid);
  try {
    const queue = mutants.values();
    const profiles = createProfiles(say);
    const work = async () => {
      const copy = copyOfCheckout();
      const remove = () => rmSync(copy, { recursive: true, force: true });
      process.once('exit', remove);
      try {
        for (const mutant of queue) {
          const end = await tryMutant(mutant, copy, testsOf(graph, mutant.file), profiles);
          if (end === 'overdue') overdue++;
          if (end === 'killed' || end === 'overdue') killed++;
          else if (keyOf(mutant) in accepted) excused++;
          else if (!(await compiles(mutant, copy))) invalid++;
          else say(`${end}: ${mutant.file}:${mutant.line}: ${mutant.change}\n  ${keyOf(mutant)}`);
        }
      } finally {
        remove();
        process.off('exit', remove);
      }
    };
    await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  } finally {
    await endServers(process.pid);
  }
  const survived = mutants.length - killed - excused - invalid;
  const score = killed / Math.max(1, killed + survived);
  say(
    `score ${score.toFixed(2)}: ${killed} killed (${overdue} by the time limit), ${survived} survived, ${excused} accepted, ${invalid} refused by the type checker`,
  );
  if (score < requiredScore) process.exitCode = 1;
}

function chosen(mutants: Mutant[], seed: number): Mutant[] {
  const count = Number(values.sample ?? mutants.length);
  const random = seededRandom(seed);
  return mutants
    .map((mutant) => ({ mutant, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** Names a mutant by its file, the text of its line and the change, independent of line numbers. */
function keyOf({ file, line, change }: Mutant): string {
  const text = readFileSync(join(root, file), 'utf8').split('\n')[line - 1]?.trim();
  return `${file}: ${text}: ${change}`;
}

/** The tests of a source file: `near` are those of its folder. */
interface Tests {
  near: string[];
  other: string[];
}

/**
 * The test files of the same folder that reach the file, or of the closest folder above that has some, and those elsewhere
 * that import the file.
 */
function testsOf(graph: ImportGraph, file: string): Tests {
  const isTest = (path: string) => path.endsWith('.test.ts') && !path.startsWith('tests/e2e/');
  const dependents = [...graph.dependentsOf([file])].filter(isTest);
  const folders = file.split('/').slice(0, -1);
  let near: string[] = [];
  for (let depth = folders.length; near.length === 0 && depth > 0; depth--) {
    near = dependents.filter((path) => path.startsWith(`tests/${folders.slice(0, depth).join('/')}/`));
  }
  return { near, other: graph.usersOf(file).filter((path) => isTest(path) && !near.includes(path)) };
}

/** How a test file runs without any change. */
interface Profile {
  ms: number;
  executed: Executed;
}

interface Profiles {
  /** Runs the test in an unchanged copy, or returns what an earlier run measured. */
  measure(test: string, copy: string): Promise<Profile>;
  /** The duration, once it is measured. */
  msOf(test: string): number | undefined;
}

/** A test that fails without any change says nothing about changes, so it counts as one that executes nothing. */
function createProfiles(say: (line: string) => void): Profiles {
  const profiles = new Map<string, Promise<Profile>>();
  const durations = new Map<string, number>();
  const measure = async (test: string, copy: string): Promise<Profile> => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-mutate-coverage-'));
    try {
      const startedAt = performance.now();
      const end = await run(test, copy, { limitMs: maxLimitMs, env: { NODE_V8_COVERAGE: folder } });
      const ms = Math.ceil(performance.now() - startedAt);
      durations.set(test, ms);
      if (end === 'passed') return { ms, executed: readCoverage(folder, copy) };
      say(`ignored: ${test} fails without any change`);
      return { ms, executed: () => false };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };
  return {
    msOf: (test) => durations.get(test),
    measure(test, copy) {
      const profile = profiles.get(test) ?? measure(test, copy);
      profiles.set(test, profile);
      return profile;
    },
  };
}

function copyOfCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'svc-mutate-'));
  const isSource = (path: string) => !path.includes('node_modules');
  for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/**
 * Runs the tests that execute the changed place until one fails: first the one named after the file, then those of its
 * folder, the fastest first.
 */
async function tryMutant(
  { file, offset, text }: Mutant,
  copy: string,
  { near, other }: Tests,
  profiles: Profiles,
): Promise<'killed' | 'overdue' | 'survived' | 'not executed'> {
  const name = file.split('/').at(-1)?.replace('.ts', '') ?? '';
  const rank = (test: string) => (test.endsWith(`/${name}.test.ts`) ? -1 : (profiles.msOf(test) ?? 0));
  let executed = false;
  for (const test of [...near.toSorted((a, b) => rank(a) - rank(b)), ...other]) {
    const profile = await profiles.measure(test, copy);
    if (!profile.executed(file, offset)) continue;
    executed = true;
    writeFileSync(join(copy, file), text);
    try {
      const end = await run(test, copy, { limitMs: Math.min(maxLimitMs, 10_000 + 3 * profile.ms) });
      if (end !== 'passed') return end === 'failed' ? 'killed' : 'overdue';
    } finally {
      writeFileSync(join(copy, file), readFileSync(join(root, file)));
    }
  }
  return executed ? 'survived' : 'not executed';
}

/** Whether the type checker accepts a mutant; otherwise it is no program, and no test has to notice it. */
async function compiles({ file, text }: Mutant, copy: string): Promise<boolean> {
  writeFileSync(join(copy, file), text);
  try {
    const cached = ['--incremental', '--tsBuildInfoFile', join(copy, '.cache/types')];
    const child = spawn(join(root, 'node_modules/.bin/tsc'), ['--noEmit', ...cached], { cwd: copy, stdio: 'ignore' });
    const [code] = (await once(child, 'close')) as [number | null];
    return code === 0;
  } finally {
    writeFileSync(join(copy, file), readFileSync(join(root, file)));
  }
}

/** Runs a test file. One that takes too long is `overdue`: a mutant may loop forever. */
async function run(
  test: string,
  copy: string,
  { limitMs, env = {} }: { limitMs: number; env?: NodeJS.ProcessEnv },
): Promise<'passed' | 'failed' | 'overdue'> {
  const child = spawn(process.execPath, [join(copy, test)], {
    cwd: copy,
    // Only `limitMs` ends a test, however busy the machine is. A fast test mostly compiles what it imports.
    env: { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: '0', NODE_COMPILE_CACHE: join(copy, '.cache'), ...env },
    stdio: 'ignore',
    detached: true,
  });
  const end = () => endGroup(child);
  let isOverdue = false;
  const timer = setTimeout(() => {
    isOverdue = true;
    end();
  }, limitMs);
  process.once('exit', end);
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    if (isOverdue) return 'overdue';
    return code === 0 ? 'passed' : 'failed';
  } finally {
    clearTimeout(timer);
    process.off('exit', end);
    end();
  }
}

/** Kills a process and what it started: a test that fails early leaves its own processes behind. */
function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
