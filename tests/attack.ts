import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createSuite } from './suite.ts';
import { bringUp, endToEnd, targetNames } from './e2e/targets.ts';

const usage = `Usage: npm run attack -- [options] [files]

Runs the tests that attack the platform, with 20 times as many cases as npm test where cases are chosen at random, and
prints what was sent. SVC_SOAK sets another factor, and SVC_SEED repeats a run.

  --target local|cluster  where the platform runs (local)
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { target: { type: 'string', default: 'local' }, help: { type: 'boolean', short: 'h', default: false } },
});
const target = targetNames.find((name) => name === values.target);

/** The end-to-end tests of docs/explanation/threat-model.md. */
const endToEndAttacks = [
  'tests/e2e/role-matrix.test.ts',
  'tests/e2e/api-fuzz.test.ts',
  'tests/e2e/gate-attacks.test.ts',
  'tests/e2e/raw-requests.test.ts',
  'tests/e2e/rights.test.ts',
  'tests/e2e/secrets.test.ts',
  'tests/e2e/last/secrets-left.test.ts',
];
const clusterAttacks = ['build-attacks', 'network-policies', 'pod-security'].map((name) => {
  return `tests/e2e/cluster/${name}.test.ts`;
});

if (values.help) process.stdout.write(usage);
else if (target === undefined) {
  process.stderr.write(`--target is ${targetNames.join(' or ')}, not "${values.target}"\n\n${usage}`);
  process.exitCode = 2;
} else {
  await attack(target, positionals);
}

async function attack(on: (typeof targetNames)[number], files: readonly string[]): Promise<void> {
  const suite = createSuite();
  const folder = 'tests/attacks';
  const units = readdirSync(join(import.meta.dirname, 'attacks')).filter((file) => file.endsWith('.test.ts'));
  const all = [
    ...units.map((file) => `${folder}/${file}`),
    ...endToEndAttacks,
    ...(on === 'cluster' ? clusterAttacks : []),
  ];
  const chosen = files.length > 0 ? files : all;
  const inCluster = chosen.filter((file) => file.startsWith('tests/e2e/'));
  const alone = chosen.filter((file) => !inCluster.includes(file));
  const random = { SVC_SOAK: process.env['SVC_SOAK'] ?? '20' };
  if (alone.length > 0) await suite.tests('attacks', { files: alone, jobs: 2, timeoutSeconds: 7_200 }, random);
  if (inCluster.length > 0) {
    await suite.attempt(`the platform on target ${on}`, async () => {
      const platform = await bringUp(on, { log: suite.say });
      try {
        await endToEnd(suite, on, { ...platform.env, ...random }, inCluster);
      } finally {
        await platform.remove();
      }
    });
  }
  suite.end();
}
