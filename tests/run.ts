import { hash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { requireStartable } from '../infra/testcluster/cluster.ts';
import { ClusterProblem } from '../infra/testcluster/problem.ts';
import { filesBrokenSince } from './changed.ts';
import { createSuite, type Check } from './suite.ts';
import { bringUp, endToEnd, endToEndFiles, type TargetName, type TestPlatform } from './e2e/targets.ts';
import { readImportGraph } from './support/import-graph.ts';

/**
 * `npm test`: format, lint, types, the unit and integration tests, and the end-to-end tests on the test cluster and on the
 * embedded cluster. The last line reads `N passed, N failed, N skipped`.
 *
 * Two lanes run side by side. While the test cluster and its images are built, the tests that need neither run; while
 * the end-to-end tests run on the test cluster, the rest of the tests and then those on the embedded cluster do.
 */
const options = {
  fast: { type: 'boolean', default: false },
  changed: { type: 'boolean', default: false },
  keep: { type: 'boolean', default: false },
  jobs: { type: 'string', default: '2' },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

const usage = `Usage: npm test -- [options]

  --fast           leave out everything that needs the test cluster, and the end-to-end tests
  --changed [REF]  run only the tests that changes since REF can break (where the branch left main); implies --fast
  --keep           leave the test cluster up
  --jobs N         unit test files that run side by side (2)
`;

const root = join(import.meta.dirname, '..');
/** Results of checks by the content of files, which fresh checkouts in the same folder share. */
const results = join(
  process.env['SVC_CACHE'] ?? join(homedir(), '.cache/svc'),
  'checks',
  hash('sha256', root).slice(0, 16),
);
const checks = [
  {
    name: 'format',
    program: 'prettier',
    args: [
      ...['--check', '--log-level', 'warn', '.'],
      ...['--cache', '--cache-strategy', 'content', '--cache-location', join(results, 'format.json')],
    ],
  },
  { name: 'lint', program: 'oxlint', args: ['--type-aware', '--deny-warnings', '--quiet'] },
  typeCheck('types', '.'),
  typeCheck('types of the web console', 'functions/console/ui'),
  { name: 'unused files, exports and dependencies', program: 'knip', args: ['--no-progress'] },
];
const { values, positionals } = parseArgs({ options, allowPositionals: true });
if (values.help) process.stdout.write(usage);
else if (positionals.length > (values.changed ? 1 : 0)) {
  process.stderr.write(`unexpected argument: ${positionals.at(-1)}\n\n${usage}`);
  process.exitCode = 2;
} else {
  try {
    await main();
  } catch (error) {
    if (!(error instanceof ClusterProblem)) throw error;
    process.stderr.write(`${error.message}\nnpm test -- --fast runs what needs no cluster.\n`);
    process.exitCode = 1;
  }
}

async function main(): Promise<void> {
  const suite = createSuite();
  const { say, totals } = suite;
  const all = unitTests();
  const files = values.changed ? filesBrokenSince(positionals[0], all) : all;
  const later = filesThatNeedCluster(files);
  const first = files.filter((file) => !later.includes(file));
  const reason = await reasonWithoutCluster();
  if (reason !== undefined) {
    say(`left out: the end-to-end tests and everything on the test cluster (${reason})`);
    totals.skipped++;
    if (process.env['CI']) totals.failed++;
  }
  if (values.changed) {
    say(`left out: ${all.length - files.length} of ${all.length} test files, which the changes cannot break`);
  }
  const ownLane = async () => {
    await suite.checks(checks);
    // Everything else waits for the test cluster, so that its builds come first.
    await unit('unit and integration tests', first, {}, { background: true });
  };

  if (reason !== undefined) {
    await ownLane();
    await unit('tests that use other servers', later, {});
    suite.end();
    return;
  }
  const starting = start('cluster');
  const outageEnds = Promise.withResolvers<void>();
  const unitTestsEnd = Promise.withResolvers<void>();
  await Promise.all([clusterLane(), afterwards()]);
  suite.end();

  async function start(target: TargetName): Promise<TestPlatform | undefined> {
    let platform: TestPlatform | undefined;
    await suite.attempt(`the platform, target ${target}`, async () => {
      platform = await bringUp(target, { log: say });
    });
    return platform;
  }

  async function clusterLane(): Promise<void> {
    const platform = await starting;
    const { outage, disruptive, shared, last } = endToEndFiles('cluster');
    if (platform) await endToEnd(suite, 'cluster', platform.env, outage);
    outageEnds.resolve();
    if (!platform) return;
    await endToEnd(suite, 'cluster', platform.env, [...disruptive, ...shared]);
    await unitTestsEnd.promise;
    await endToEnd(suite, 'cluster', platform.env, last);
    // Idle, it would still take a tenth of the processors from the tests that remain.
    if (!values.keep) await suite.attempt('taking the test cluster down', platform.remove);
  }

  /** The tests that use the programs that the cluster's start builds. */
  async function afterwards(): Promise<void> {
    await ownLane();
    const platform = await starting;
    const { disruptive, shared, last } = endToEndFiles('local');
    // The disruptive ones mostly wait, and an embedded cluster takes seconds to start, so they have one of their own, and
    // begin while unit tests still use the processors.
    const disruptiveEnd = onEmbeddedCluster(await start('local'), [...disruptive, ...last]);
    await outageEnds.promise;
    await unit('tests on the test cluster, and with its programs', later, platform?.env ?? {});
    unitTestsEnd.resolve();
    await Promise.all([disruptiveEnd, onEmbeddedCluster(await start('local'), [...shared, ...last])]);
  }

  async function onEmbeddedCluster(platform: TestPlatform | undefined, files: readonly string[]): Promise<void> {
    if (!platform) return;
    await endToEnd(suite, 'local', platform.env, files);
    await suite.attempt('taking the embedded cluster down', platform.remove);
  }

  async function unit(
    name: string,
    chosen: readonly string[],
    env: NodeJS.ProcessEnv,
    options: { background?: boolean } = {},
  ): Promise<void> {
    if (chosen.length > 0)
      await suite.tests(name, { files: chosen, jobs: Number(values.jobs), timeoutSeconds: 600 }, env, options);
  }
}

function typeCheck(name: string, project: string): Check {
  const record = join(results, `${project.replaceAll(/\W+/g, '-')}.tsbuildinfo`);
  const incremental = ['--incremental', '--tsBuildInfoFile', record];
  // Each of the four checkers of the default computes again what the others have of the types that files share.
  return { name, program: 'tsc', args: ['--noEmit', '-p', project, '--checkers', '1', ...incremental] };
}

function unitTests(): string[] {
  return readdirSync(join(root, 'tests'), { recursive: true, withFileTypes: true })
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .filter((file) => file.endsWith('.test.ts') && !file.startsWith('tests/e2e/'))
    .sort();
}

/** Those that use the cluster, its kubectl, or the programs that are built with it. */
function filesThatNeedCluster(files: readonly string[]): string[] {
  const sources = ['kubernetes', 'kubectl', 'store-server'].map((name) => `tests/support/${name}.ts`);
  const dependents = readImportGraph(root).dependentsOf([...sources, 'tests/infra/local/ingress/traefik.test.ts']);
  return files.filter((file) => dependents.has(file));
}

/**
 * Why the test cluster is not used; undefined when it is. @throws ClusterProblem when it is required and cannot start
 */
async function reasonWithoutCluster(): Promise<string | undefined> {
  if (values.changed) return '--changed';
  if (values.fast) return '--fast';
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'the test cluster needs root on Linux';
  await requireStartable();
  return undefined;
}
