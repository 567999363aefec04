import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { parse } from 'yaml';
import { world, type Routes } from '../world.ts';

const project = '/api/v1/projects/shop';
const record = `${project}/applied-configurations/default`;
const defaults = { cpu: '16', memory: '32Gi', storage: '200Gi', pods: 200, containerMemory: '512Mi' };

/** A project whose environment `prod` has limits of its own, some of them from a file. */
async function shop(t: Test, { own, applied, more = {} }: { own: object; applied: object; more?: Routes }) {
  const environment = { name: 'prod', namespace: 'shop-prod', ready: true };
  const view = { ...environment, limits: { ...defaults, ...own }, ownLimits: own };
  const createdAt = '2026-11-21T11:00:00Z';
  const recordOf = (version: number, objects: object) => ({
    body: { name: 'default', environment: 'prod', version, objects, appliedBy: 'a@b.c', appliedAt: createdAt },
  });
  const kinds = ['services', 'volumes', 'plans', 'functions', 'jobs', 'apps'];
  const created = await world(t, {
    [`GET ${project}`]: { body: { name: 'shop', status: 'ready', environments: [view], createdAt } },
    ...Object.fromEntries(kinds.map((kind) => [`GET ${project}/${kind}`, { body: { items: [] } }])),
    [`GET ${record}`]: recordOf(1, { environments: { prod: { limits: applied } } }),
    [`PUT ${record}`]: ({ body }) => {
      const { version, objects } = body as { version: number; objects: object };
      return recordOf(version + 1, objects);
    },
    [`PATCH ${project}/environments/prod`]: { body: view },
    ...more,
  });
  const file = join(t.testdir(), 'svc.yaml');
  const write = (limits: string) =>
    writeFileSync(file, `project: shop\nenvironments:\n  prod:\n    limits: ${limits}\n`);
  return { ...created, file, write };
}

t.test('limits are compared in three ways: set, changed, reset, and left alone', async (t) => {
  const applied = { memory: '64Gi', pods: 300 };
  const { run, seen, file, write } = await shop(t, { own: { ...applied, containerMemory: '1Gi' }, applied });
  write('{ memory: 65536Mi, cpu: "16" }');
  const lines = [
    'environment prod',
    '  ~ limits.cpu: (default) -> 16',
    '  ~ limits.pods: 300 -> (default)',
    '0 to create, 1 to change, 0 to delete, 0 unchanged.',
    '',
  ];
  t.same(await run(['diff', '--file', file]), { code: 0, stdout: lines.join('\n'), stderr: '' });
  t.match(await run(['apply', '--file', file]), { code: 0, stderr: 'the limits of prod are changed\n' });
  const recorded = (version: number, limits: object) => ({ version, objects: { environments: { prod: { limits } } } });
  t.same(
    seen.filter(({ method }) => method !== 'GET').map(({ method, body }) => [method, body]),
    [
      ['PUT', recorded(1, { memory: '65536Mi', pods: 300, cpu: '16' })],
      ['PATCH', { limits: { cpu: '16', pods: null } }],
      ['PUT', recorded(2, { memory: '65536Mi', cpu: '16' })],
    ],
    'the record names what changes before it changes',
  );
});

t.test('limits that are as the file says change nothing', async (t) => {
  const own = { memory: '32Gi' };
  const { run, seen, file, write } = await shop(t, { own, applied: own });
  write('{ memory: 32Gi }');
  t.equal((await run(['diff', '--file', file, '--exit-code'])).code, 0);
  t.equal((await run(['apply', '--file', file])).code, 0);
  t.same(
    seen.filter(({ method }) => method !== 'GET'),
    [],
  );
});

t.test('an export has the limits of an environment, without defaults, and applies without a change', async (t) => {
  const { run, file } = await shop(t, { own: { memory: '64Gi', pods: 300 }, applied: {} });
  const { stdout } = await run(['export', '--project', 'shop']);
  t.same(parse(stdout), { project: 'shop', environments: { prod: { limits: { memory: '64Gi', pods: 300 } } } });
  writeFileSync(file, stdout);
  t.equal((await run(['diff', '--file', file, '--exit-code'])).code, 0);
});

t.test('an export leaves out what the cluster has chosen for a volume', async (t) => {
  const volume = (name: string, isDefaultStorageClass: boolean) => ({
    id: '019a0000-0000-7000-8000-000000000009',
    name,
    project: 'shop',
    environment: 'prod',
    size: '1Gi',
    storageClass: 'local',
    isDefaultStorageClass,
    accessMode: 'ReadWriteOnce',
    status: 'ready',
    mountedBy: [],
    createdAt: '2026-11-21T11:00:00Z',
  });
  const items = [volume('data', true), volume('fast', false)];
  const more = { [`GET ${project}/volumes`]: { body: { items } } };
  const { run, file } = await shop(t, { own: {}, applied: {}, more });
  const { stdout } = await run(['export', '--project', 'shop']);
  t.same((parse(stdout) as { volumes: object }).volumes, {
    data: { size: '1Gi' },
    fast: { size: '1Gi', storageClass: 'local' },
  });
  writeFileSync(file, stdout.replace('data:', 'data:\n    storageClass: local'));
  t.equal((await run(['diff', '--file', file, '--exit-code'])).code, 0, 'a file may name it');
});
