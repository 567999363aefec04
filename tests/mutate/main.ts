import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { seededRandom } from '../support/random.ts';
import { endServers } from '../support/servers.ts';
import { startTestServers } from '../support/test-servers.ts';
import { testSeed } from '../support/soak.ts';
import { readImportGraph } from '../support/import-graph.ts';
import { mutantsOf, type Mutant } from './mutants.ts';

/**
 * `npm run mutate -- <folder or file> [--sample N] [--jobs N]`: changes the sources one place at a time, in copies of this
 * checkout, and runs the tests of the same folder under `tests/` that reach the file. Exits with 1 when fewer than 85 of
 * 100 changes fail a test. Survivors that no test can or should notice are listed in `survivors.json` with a reason.
 */
const requiredScore = 0.85;
const timeLimitMs = 60_000;
const root = join(import.meta.dirname, '../..');
const copied = ['cli', 'functions', 'gate', 'infra', 'runtime', 'tests', 'workers', 'docs', 'package.json'];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { sample: { type: 'string' }, jobs: { type: 'string', default: '2' } },
});
const [target] = positionals;
if (target === undefined) {
  process.stderr.write('usage: npm run mutate -- <folder or file> [--sample N] [--jobs N]\n');
  process.exitCode = 2;
} else await mutate(target.replace(/\/$/, ''));

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
  let [killed, excused] = [0, 0];
  await startTestServers(process.pid);
  try {
    const queue = mutants.values();
    const work = async () => {
      const copy = copyOfCheckout();
      try {
        for (const mutant of queue) {
          if (await isKilled(mutant, copy, testsOf(graph, mutant.file))) killed++;
          else if (keyOf(mutant) in accepted) excused++;
          else say(`survived: ${mutant.file}:${mutant.line}: ${mutant.change}\n  ${keyOf(mutant)}`);
        }
      } finally {
        rmSync(copy, { recursive: true, force: true });
      }
    };
    await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  } finally {
    await endServers(process.pid);
  }
  const score = killed / Math.max(1, mutants.length - excused);
  say(
    `score ${score.toFixed(2)}: ${killed} killed, ${mutants.length - killed - excused} survived, ${excused} accepted`,
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

/** The test files that import the file, and those of the same folder that reach it; the one named after it first. */
function testsOf(graph: ReturnType<typeof readImportGraph>, file: string): string[] {
  const folder = file.split('/').slice(0, -1).join('/');
  const name = file.split('/').at(-1)?.replace('.ts', '') ?? '';
  const near = [...graph.dependentsOf([file])].filter((path) => path.startsWith(`tests/${folder}/`));
  const tests = [...new Set([...near, ...graph.usersOf(file)])].filter(
    (path) => path.endsWith('.test.ts') && !path.startsWith('tests/e2e/'),
  );
  return tests.sort((a, b) => Number(b.includes(`/${name}.`)) - Number(a.includes(`/${name}.`)));
}

function copyOfCheckout(): string {
  const copy = mkdtempSync(join(tmpdir(), 'svc-mutate-'));
  const isSource = (path: string) => !path.includes('node_modules');
  for (const name of copied) cpSync(join(root, name), join(copy, name), { recursive: true, filter: isSource });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

async function isKilled({ file, text }: Mutant, copy: string, tests: readonly string[]): Promise<boolean> {
  const original = readFileSync(join(root, file), 'utf8');
  writeFileSync(join(copy, file), text);
  try {
    for (const test of tests) if (!(await passes(join(copy, test), copy))) return true;
    return false;
  } finally {
    writeFileSync(join(copy, file), original);
  }
}

/** Whether a test file passes; one that takes too long does not: a mutant may loop forever. */
function passes(test: string, cwd: string): Promise<boolean> {
  return new Promise((resolve) => {
    const env = { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: '30' };
    const child = spawn(process.execPath, [test], {
      cwd,
      env,
      stdio: 'ignore',
      timeout: timeLimitMs,
      killSignal: 'SIGKILL',
    });
    child.once('error', () => resolve(false));
    child.once('close', (code) => resolve(code === 0));
  });
}
