import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { app, createdAt, id, world } from '../world.ts';

const project = '/api/v1/projects/shop';
const limits = { cpu: '16', memory: '32Gi', storage: '200Gi', pods: 200, containerMemory: '512Mi' };

const service = (name: string, status = 'ready') => ({
  id,
  name,
  project: 'shop',
  environment: 'prod',
  type: 'redis',
  external: false,
  status,
  tls: false,
  createdAt,
});

/** A project with the app `api` and services, and a file that names the app with its bindings. */
async function shop(t: Test, services: object[], text: string) {
  const environment = { name: 'prod', namespace: 'shop-prod', ready: true, limits, ownLimits: {} };
  const lists = { services, apps: [app], volumes: [], plans: [], functions: [], jobs: [] };
  const created = await world(t, {
    [`GET ${project}`]: { body: { name: 'shop', status: 'ready', environments: [environment], createdAt } },
    ...Object.fromEntries(
      Object.entries(lists).map(([kind, items]) => [`GET ${project}/${kind}`, { body: { items } }]),
    ),
    [`GET ${project}/apps/api/git`]: { body: { configured: false } },
  });
  const file = join(t.testdir(), 'svc.yaml');
  writeFileSync(file, `project: shop\n${text}`);
  return { ...created, diff: (...more: string[]) => created.run(['diff', '--file', file, ...more]) };
}

t.test('a service that an object uses and that does not exist is a difference', async (t) => {
  const text = `
services:
  cache: { type: redis }
apps:
  api: { image: r.example.com/api:1 }
  web: { image: r.example.com/web:1, bindings: [cache, stock, orders] }
functions:
  list:
    image: r.example.com/list:1
    trigger: redis
    events: { type: redis, source: queue, list: jobs }
`;
  const { diff } = await shop(t, [service('cache'), service('stock'), service('orders', 'deleting')], text);
  const missing = (name: string) => `      service ${name} does not exist: add it to the file, or create it first`;
  const { code, stdout, stderr } = await diff();
  t.same([code, stderr], [0, ''], stderr);
  t.same(stdout.trimEnd().split('\n'), [
    'environment prod',
    '  + function list',
    missing('queue'),
    '  + app web',
    missing('orders'),
    '  ? not in the file: service stock',
    '2 to create, 0 to change, 0 to delete, 2 unchanged.',
  ]);
  const data = JSON.parse((await diff('-o', 'json')).stdout) as { environments: object[] };
  t.match(data.environments, [
    {
      objects: [
        { name: 'list', missingServices: ['queue'] },
        { name: 'web', missingServices: ['orders'] },
      ],
      others: [{ kind: 'services', name: 'stock' }],
    },
  ]);
});

t.test('objects that only the environment has are named, and are no change that the file makes', async (t) => {
  const services = Array.from({ length: 12 }, (_, index) => service(`s${index}`));
  const { diff } = await shop(t, services, 'apps:\n  api: { image: r.example.com/api:1 }\n');
  const { code, stdout } = await diff('--exit-code');
  t.equal(code, 0);
  t.match(stdout, /^environment prod\n {2}\? not in the file: service s0, .*service s9 and 2 more\n0 to create/);
});

t.test('an object of the file that is being deleted is no object of the environment', async (t) => {
  const text = 'services:\n  cache: { type: redis }\napps:\n  api: { image: r.example.com/api:1, bindings: [cache] }\n';
  const { diff } = await shop(t, [service('cache', 'deleting')], text);
  t.match((await diff()).stdout, /\? service cache: is being deleted; apply the file again when it is gone\n/);
});
