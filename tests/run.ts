import { createSuite } from './suite.ts';
import { bringUp, endToEnd, type TestPlatform } from './e2e/targets.ts';

/**
 * Everything that `npm test` runs, in its order: format, lint, types, then a real cluster with the platform on it, the
 * unit and integration tests, and the end-to-end suite on the cluster and on the embedded default. The last line reads
 * `N passed, N failed, N skipped`. `npm test -- --fast` leaves out the platforms, and says so.
 */
const suite = createSuite();
const { say, totals } = suite;
const fast = process.argv.includes('--fast');

await suite.check('format', 'prettier', ['--check', '--log-level', 'warn', '.']);
await suite.check('lint', 'oxlint', ['--type-aware', '--deny-warnings', '--quiet']);
await suite.check('types', 'tsc', ['--noEmit']);

let cluster: TestPlatform | undefined;
const whyNot = process.platform !== 'linux' || process.getuid?.() !== 0 ? 'the test cluster needs root on Linux' : '';
if (fast || whyNot) {
  say(`left out: everything on the real cluster and the end-to-end tests (${fast ? '--fast' : whyNot})`);
  totals.skipped++;
  if (process.env['CI']) totals.failed++;
} else {
  await suite.attempt('a real cluster, with the platform installed', async () => {
    cluster = await bringUp('cluster', { log: say });
  });
}

await suite.tests('unit and integration tests', ['--jobs=2', '--timeout=1500'], cluster?.env ?? {});
if (cluster) {
  // At once: tests wait for their platform most of the time. The cluster's kubectl serves both.
  await Promise.all([endToEnd(suite, 'cluster', cluster.env), onEmbeddedDefault()]);
  if (!process.argv.includes('--keep')) await suite.attempt('taking the cluster down', cluster.remove);
}
suite.end();

async function onEmbeddedDefault(): Promise<void> {
  await suite.attempt('the platform on the embedded default', async () => {
    const local = await bringUp('local', { log: say });
    try {
      await endToEnd(suite, 'local', local.env);
    } finally {
      await local.remove();
    }
  });
}
