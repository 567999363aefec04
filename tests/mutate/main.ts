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
import { invalidMutants } from './types.ts';

/**
 * `npm run mutate -- <folder or file>...`: changes the sources one place at a time, in copies of this checkout, and runs the
 * tests of the same folder under `tests/` that execute the changed place, then those elsewhere that import the file. Exits
 * with 1 when fewer than 85 of 100 changes fail a test. Survivors that no test can or should notice are listed in
 * `survivors.json` with a reason.
 */
const requiredScore = 0.85;
/** For the order of tests: one that was not measured comes after those that are known to be faster than this. */
const assumedMs = 2_000;
/** Maximum test files of other folders that run for a file whose own folder has none. */
const closestMax = 12;
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
  options: {
    sample: { type: 'string' },
    jobs: { type: 'string', default: '2' },
    near: { type: 'boolean', default: false },
    limit: { type: 'string', default: '180' },
  },
});
if (positionals.length === 0) {
  process.stderr.write(`usage: npm run mutate -- <folder or file>... [flags]

  --sample <n>  change only n places, chosen by SVC_SEED
  --jobs <n>    number of concurrent tests (default 2)
  --near        run only the tests of the same folder
  --limit <s>   leave out test files that take longer than this (default 180)
`);
  process.exitCode = 2;
} else {
  // Tests run in process groups of their own, which `exit` ends.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
  await mutate(positionals.map((target) => target.replace(/\/$/, '')));
}

async function mutate(targets: string[]): Promise<void> {
  const graph = readImportGraph(root);
  const sources = graph.files.filter(
    (file) => file.endsWith('.ts') && targets.some((target) => `${file}/`.startsWith(`${target}/`)),
  );
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
  const ends = new Map<Mutant, End>();
  await startTestServers(process.pid);
  try {
    const queue = mutants.values();
    const profiles = createProfiles(say);
    const work = async (copy: string) => {
      for (const mutant of queue) {
        const end =
          // No test notices these, so each would take as long as all of its tests.
          mutant.key in accepted ? 'accepted' : await tryMutant(mutant, copy, testsOf(graph, mutant.file), profiles);
        ends.set(mutant, end);
        if (isSurvivor(end)) say(`${end}: ${mutant.file}:${mutant.line}: ${mutant.change}\n  ${mutant.key}`);
      }
    };
    await Promise.all(Array.from({ length: Number(values.jobs) }, () => withCopy(work)));
  } finally {
    await endServers(process.pid);
  }
  const survivors = [...ends].flatMap(([mutant, end]) => (isSurvivor(end) ? [mutant] : []));
  for (const mutant of await withCopy((copy) => invalidMutants(survivors, copy))) {
    ends.set(mutant, 'invalid');
    say(`refused by the type checker: ${mutant.key}`);
  }
  for (const file of sources) {
    const count = countOf([...ends].flatMap(([mutant, end]) => (mutant.file === file ? [end] : [])));
    if (count.survived > 0) say(`${count.killed}/${count.killed + count.survived} ${file}`);
  }
  const { killed, survived, overdue, accepted: excused, invalid } = countOf([...ends.values()]);
  const score = killed / Math.max(1, killed + survived);
  say(
    `score ${score.toFixed(2)}: ${killed} killed (${overdue} by the time limit), ${survived} survived, ${excused} accepted, ${invalid} refused by the type checker`,
  );
  if (score < requiredScore) process.exitCode = 1;
}

type End = 'killed' | 'overdue' | 'survived' | 'not executed' | 'accepted' | 'invalid';

function isSurvivor(end: End): boolean {
  return end === 'survived' || end === 'not executed';
}

function countOf(ends: readonly End[]) {
  const count = (...counted: readonly End[]) => ends.filter((end) => counted.includes(end)).length;
  return {
    killed: count('killed', 'overdue'),
    overdue: count('overdue'),
    survived: count('survived', 'not executed'),
    accepted: count('accepted'),
    invalid: count('invalid'),
  };
}

function chosen(mutants: Mutant[], seed: number): Mutant[] {
  if (values.sample === undefined) return mutants;
  const count = Number(values.sample);
  const random = seededRandom(seed);
  return mutants
    .map((mutant) => ({ mutant, order: random.next() }))
    .sort((a, b) => a.order - b.order)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

/** The tests of a source file: `near` are those of its folder. */
interface Tests {
  near: string[];
  other: string[];
}

/**
 * The test files of the same folder that reach the file, or of one above it that is still a part of a layer, such as
 * `functions/webhooks`. If there is none, those that reach the file in the fewest steps. And those elsewhere that import it.
 */
function testsOf(graph: ImportGraph, file: string): Tests {
  const isTest = (path: string) => path.endsWith('.test.ts') && !path.startsWith('tests/e2e/');
  // In the order of the steps that they are away.
  const dependents = [...graph.dependentsOf([file])].filter(isTest);
  const folders = file.split('/').slice(0, -1);
  let near: string[] = [];
  for (let depth = folders.length; near.length === 0 && depth >= 2; depth--) {
    near = dependents.filter((path) => path.startsWith(`tests/${folders.slice(0, depth).join('/')}/`));
  }
  if (near.length === 0) near = dependents.slice(0, closestMax);
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
      const end = await run(test, copy, { limitMs: Number(values.limit) * 1_000, env: { NODE_V8_COVERAGE: folder } });
      const ms = Math.ceil(performance.now() - startedAt);
      durations.set(test, ms);
      if (end === 'passed') return { ms, executed: readCoverage(folder, copy) };
      say(`ignored: ${test} ${end === 'overdue' ? 'takes too long' : 'fails'} without any change`);
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

/** Passes a copy of this checkout, and removes it afterwards. */
async function withCopy<Result>(use: (copy: string) => Promise<Result>): Promise<Result> {
  const copy = mkdtempSync(join(tmpdir(), 'svc-mutate-'));
  const remove = () => rmSync(copy, { recursive: true, force: true });
  process.once('exit', remove);
  try {
    const isSource = (path: string) => !path.includes('node_modules');
    for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    return await use(copy);
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/**
 * Runs the tests that execute the changed place until one fails: first the one named after the file, then those of its
 * folder, the fastest first.
 */
async function tryMutant(
  { file, offset, source, text }: Mutant,
  copy: string,
  { near, other }: Tests,
  profiles: Profiles,
): Promise<End> {
  const name = file.split('/').at(-1)?.replace('.ts', '') ?? '';
  const rank = (test: string) => (test.endsWith(`/${name}.test.ts`) ? -1 : (profiles.msOf(test) ?? assumedMs));
  let executed = false;
  for (const test of [...near.toSorted((a, b) => rank(a) - rank(b)), ...(values.near ? [] : other)]) {
    const profile = await profiles.measure(test, copy);
    if (!profile.executed(file, offset)) continue;
    executed = true;
    writeFileSync(join(copy, file), text);
    try {
      const end = await run(test, copy, { limitMs: 10_000 + 3 * profile.ms });
      if (end !== 'passed') return end === 'failed' ? 'killed' : 'overdue';
    } finally {
      writeFileSync(join(copy, file), source);
    }
  }
  return executed ? 'survived' : 'not executed';
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
