import t from 'tap';
import { app, world } from './world.ts';

const path = '/api/v1/projects/shop/apps';
const problem = (status: number, code: string) => ({ status, body: { code, message: 'Because.' } });

/** Answers of the API, and what the command ends with. */
const answers: [status: number, code: string, exitCode: number][] = [
  [400, 'invalid_request', 2],
  [400, 'environment_required', 2],
  [401, 'unauthenticated', 4],
  [401, 'invalid_credentials', 1],
  [403, 'forbidden', 1],
  [404, 'not_found', 1],
  [409, 'name_taken', 1],
  [422, 'invalid_value', 2],
  [422, 'invalid_dependency', 2],
  [429, 'too_many_requests', 1],
  [500, 'internal', 1],
];

t.test('an answer of the API ends with the code of its reason', async (t) => {
  const { run, routes } = await world(t);
  for (const [status, code, exitCode] of answers) {
    routes[`POST ${path}`] = problem(status, code);
    const ran = await run(['app', 'create', 'api', '--image', 'r.example.com/api:1', '--no-wait']);
    t.equal(ran.code, exitCode, code);
    t.match(ran.stderr, `(${code})`);
  }
});

t.test('a wrong value ends with 2, whether svc or the API refuses it', async (t) => {
  const { run, seen } = await world(t, { [`POST ${path}`]: problem(422, 'invalid_value') });
  const create = (...args: string[]) => run(['app', 'create', 'api', '--image', 'r.example.com/api:1', ...args]);
  t.equal((await create('--port', '70000')).code, 2);
  t.equal((await create('--env-file', '/nothing')).code, 2);
  t.equal(seen.length, 0, 'svc noticed');
  t.equal((await create('--memory', '1Zi')).code, 2);
  t.equal(seen.length, 1, 'the API noticed');
});

t.test('a wait that is over ends with 3, and a missing session with 4', async (t) => {
  const { run } = await world(t, {
    [`POST ${path}`]: { status: 201, body: { ...app, status: 'pending', readyReplicas: 0 } },
    [`GET ${path}/api`]: { body: { ...app, status: 'pending', readyReplicas: 0 } },
    [`GET ${path}/api/history`]: { body: { items: [] } },
  });
  const create = ['app', 'create', 'api', '--image', 'r.example.com/api:1', '--timeout', '2s'];
  t.equal((await run(create)).code, 3);
  t.equal((await run(create, { env: { SVC_TOKEN: '' } })).code, 4);
});
