import t from 'tap';
import type { AppView } from '../../runtime/contracts/api/apps.ts';
import type { FunctionView } from '../../runtime/contracts/api/functions.ts';
import type { JobView } from '../../runtime/contracts/api/jobs.ts';
import { functionLimits } from '../../runtime/contracts/resources/function.ts';
import { world } from './world.ts';

const id = '019a0000-0000-7000-8000-0000000000a1';
const place = { project: 'shop', environment: 'prod' };
const flags = ['--project', 'shop', '--environment', 'prod'];
const createdAt = '2026-11-01T00:00:00Z';
const message = 'The container "app" of pod api-1 was killed: it used more memory than its limit of 64Mi; try 128Mi.';
const recent = { outOfMemory: { at: '2026-11-21T10:00:00Z', message } };
const old = { outOfMemory: { at: '2026-11-19T10:00:00Z', message } };

const app: AppView = {
  id,
  name: 'api',
  ...place,
  image: 'r.test/api:1',
  port: 8080,
  replicas: 1,
  readyReplicas: 1,
  status: 'running',
  volumes: [],
  autoRollback: true,
  extraHosts: [],
  security: { headers: true, csp: null },
  env: {},
  gate: 'off',
  createdAt,
};
const hello: FunctionView = {
  id,
  name: 'api',
  ...place,
  runtime: 'node',
  trigger: 'http',
  status: 'idle',
  replicas: 0,
  readyReplicas: 0,
  idleTimeoutSeconds: 300,
  ...functionLimits({}),
  env: {},
  volumes: [],
  createdAt,
};
const job: JobView = {
  id,
  name: 'api',
  ...place,
  image: 'r.test/api:1',
  env: {},
  volumes: [],
  timeZone: 'Etc/UTC',
  overlap: 'Forbid',
  suspended: false,
  retries: 0,
  historyLimit: 5,
  status: 'ready',
  createdAt,
};

for (const [group, view] of [
  ['app', app],
  ['function', hello],
  ['job', job],
] as const) {
  t.test(`svc ${group} shows kills for memory, in the list for a day`, async (t) => {
    const path = `/api/v1/projects/shop/${group}s`;
    const { run, routes } = await world(t);
    const outputOf = async (...words: string[]) => {
      const { code, stdout, stderr } = await run([group, ...words, ...flags]);
      t.equal(code, 0, stderr);
      return stdout;
    };
    const answer = (body: object) => {
      routes[`GET ${path}`] = { body: { items: [body] } };
      routes[`GET ${path}/api`] = { body };
    };
    answer(view);
    t.notMatch(await outputOf('show', 'api'), /memory:/i);
    t.notMatch(await outputOf('list'), /MESSAGE/);
    answer({ ...view, ...recent });
    t.match(await outputOf('show', 'api'), /Out of memory: +The container .*limit of 64Mi; try 128Mi\.\n/);
    t.match(await outputOf('list'), /MESSAGE\n.*try 128Mi\.\n$/);
    answer({ ...view, ...old });
    t.match(await outputOf('show', 'api'), /try 128Mi/);
    t.notMatch(await outputOf('list'), /MESSAGE/);
    answer({ ...view, ...recent, message: 'Something else.' });
    t.match(await outputOf('list'), /Something else\.\n$/, 'the blocker is shown first');
  });
}
