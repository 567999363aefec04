import t from 'tap';
import { z } from 'zod';
import { notTools, readTools } from '../../../runtime/assistant/read-tools.ts';
import { createRedact } from '../../../runtime/assistant/redaction.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import type { Session } from '../../../runtime/http/route.ts';
import { declaredRoutes } from '../../functions/all-routes.ts';
import { testSession } from '../../support/api.ts';
import { dataOf, testTools, tokenSession, toolCaller, type Handlers } from '../../support/tools.ts';

const pathsOf = ({ path, kinds }: (typeof readTools)[number]) =>
  kinds ? kinds.map((kind) => path.replaceAll('{kind}', kind)) : [path];
const sorted = (texts: Iterable<string>) => [...texts].toSorted();

t.test('every GET route is a tool, or is named as none with a reason', async (t) => {
  const { routes, root } = await declaredRoutes();
  const gets = [...root, ...routes].filter(({ method }) => method === 'GET').map(({ path }) => path);
  t.same(sorted([...readTools.flatMap(pathsOf), ...Object.keys(notTools)]), sorted(gets));
});

/** The names of all fields of a JSON Schema. */
function fieldsOf(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) => [
    ...(key === 'properties' ? Object.keys(value as object) : []),
    ...fieldsOf(value),
  ]);
}

t.test('no tool is a route that reveals a secret', async (t) => {
  const { routes } = await declaredRoutes();
  const paths = readTools.flatMap(pathsOf);
  const tools = routes.filter(({ method, path }) => method === 'GET' && paths.includes(path));
  t.equal(tools.length, paths.length);
  const suspicious: string[] = [];
  for (const { path, access, audit, replies } of tools) {
    t.equal(audit, undefined, `${path}: what is recorded when it is read is for people`);
    t.not(typeof access === 'object' && access.project, 'admin', `${path}: what only admins see is for people`);
    const fields = Object.values(replies).flatMap((reply) =>
      reply ? fieldsOf(z.toJSONSchema(reply, { io: 'output', unrepresentable: 'any' })) : [],
    );
    const names = fields.filter((name) => /passw|secret|token|credential|privat|signing|^value$|^key$/i.test(name));
    suspicious.push(...names.map((name) => `${path} ${name}`));
  }
  t.same(sorted(new Set(suspicious)), [
    // Whether there are any, as a word.
    '/projects/:project/apps/:app/git credentials',
    // Their names; a test below looks for values.
    '/projects/:project/apps/:app/revisions/:revision secrets',
    // Of variables, which are hidden.
    '/projects/:project/apps/:app/revisions/:revision value',
    // Whether the caller has one that must be changed.
    '/session passwordChangeRequired',
    // What the token of the request may do, without the token.
    '/session token',
  ]);
});

t.test('names and descriptions are what clients accept, and a model can tell the tools apart', async (t) => {
  const tools = (await testTools()).list(testSession);
  t.equal(new Set(tools.map(({ name }) => name)).size, tools.length);
  for (const { name, description, inputSchema } of tools) {
    t.match(name, /^[a-z_]{3,40}$/);
    t.ok(description.length >= 20 && description.length < 400, name);
    t.equal(inputSchema['additionalProperties'], false);
    for (const [argument, schema] of Object.entries(inputSchema['properties'] as object)) {
      t.ok((schema as { description?: string }).description || 'default' in (schema as object), `${name}: ${argument}`);
    }
  }
  t.ok(JSON.stringify(tools).length < 40_000, 'the list fits into a prompt');
});

t.test('the arguments of a tool are the parameters of its routes', async (t) => {
  const logs = (await testTools()).list(testSession).find(({ name }) => name === 'show_logs');
  const { properties, required } = (logs?.inputSchema ?? {}) as {
    properties: Record<string, object>;
    required: string[];
  };
  t.same(required, ['name', 'kind']);
  t.same(sorted(Object.keys(properties)), [
    ...['environment', 'kind', 'level', 'name', 'pod', 'previous', 'project'],
    ...['search', 'sinceSeconds', 'sinceTime', 'tail', 'until'],
  ]);
  t.match(properties, {
    kind: { enum: ['app', 'function', 'job'] },
    previous: { type: 'boolean' },
    tail: { type: 'integer', maximum: 1000, default: 200 },
  });
});

t.test('a call reaches the route with the session, bounded parameters and no header', async (t) => {
  const seen: unknown[] = [];
  const handlers: Handlers = {
    'GET /projects/:project/functions/:function/logs': async ({ params, query, headers, session }) => {
      seen.push({ params, query, headers, email: session?.email });
      return { status: 200, body: { items: [] } };
    },
  };
  const tools = await testTools({ handlers });
  const result = await tools.call(toolCaller(tokenSession({ scopes: ['logs:read'] })), 'show_logs', {
    kind: 'function',
    name: 'hello',
    previous: true,
    tail: 99_999,
    search: 'failed',
  });
  t.notOk(result.isError, result.text);
  t.same(dataOf(result.text), { items: [] });
  t.match(seen, [
    {
      params: { project: 'shop', function: 'hello' },
      query: { previous: true, tail: 1000, search: 'failed', follow: false, all: false },
      headers: {},
      email: testSession.email,
    },
  ]);
  t.match(result.audit, { tool: 'show_logs', project: 'shop', function: 'hello', projectId: /-/ });
});

t.test('a revision has the names of its variables and secrets, and the values of neither', async (t) => {
  const deployment = {
    id: '019a0000-0000-7000-8000-000000000007',
    app: 'api',
    environment: 'prod',
    revision: 3,
    image: 'r.test/api:3',
    status: 'succeeded',
    trigger: 'manual',
    current: true,
    acceptedAt: '2026-11-26T10:00:00.000Z',
  };
  const difference = (kind: string, name: string, values: object) => ({
    kind,
    name,
    change: 'changed',
    restorable: true,
    ...values,
  });
  const handlers: Handlers = {
    'GET /projects/:project/apps/:app/revisions/:revision': async ({ params, query }) => {
      t.match({ params, query }, { params: { revision: '3' }, query: { compareWith: 2 } });
      const body = {
        deployment,
        settings: { port: 8080, memory: '256Mi', volumes: [] },
        variables: [{ name: 'LEVEL', value: 'hunter2' }, { name: 'OLD' }],
        secrets: ['TOKEN'],
        comparison: {
          revision: 2,
          differences: [
            difference('setting', 'memory', { before: '128Mi', after: '256Mi' }),
            difference('variable', 'LEVEL', { before: 'hunter1', after: 'hunter2' }),
            difference('secret', 'TOKEN', {}),
          ],
          unknown: [],
        },
      };
      return { status: 200, body };
    },
  };
  const tools = await testTools({ handlers });
  const args = { project: 'shop', app: 'api', revision: '3', compareWith: '2' };
  const { text, isError } = await tools.call(toolCaller(), 'show_revision', args);
  t.notOk(isError, text);
  t.notMatch(text, 'hunter');
  t.match(dataOf(text), {
    deployment: { revision: 3, image: 'r.test/api:3' },
    settings: { memory: '256Mi' },
    variables: { LEVEL: '[hidden]', OLD: '[hidden]' },
    secrets: ['TOKEN'],
    comparison: {
      revision: 2,
      differences: [
        { kind: 'setting', before: '128Mi', after: '256Mi' },
        { kind: 'variable', name: 'LEVEL', change: 'changed' },
        { kind: 'secret', name: 'TOKEN', change: 'changed' },
      ],
    },
  });
});

t.test('wrong arguments are refused by name', async (t) => {
  const tools = await testTools();
  const cases: [string, unknown, RegExp][] = [
    ['show_logs', { kind: 'service', name: 'x' }, /kind must be one of app, function, job/],
    ['show_logs', { kind: 'app' }, /argument project is missing/],
    ['show_logs', { kind: 'app', project: 'shop' }, /argument name is missing/],
    ['show_logs', { kind: 'app', project: 'shop', name: '' }, /argument name is missing/],
    ['show_logs', { kind: 'app', project: 'shop', name: 'x', follow: true }, /no argument \\"follow\\"/],
    ['whoami', { project: 'shop' }, /it has none/],
    ['show_logs', { kind: 'app', project: 'shop', name: { a: 1 } }, /argument name must be a text/],
    ['show_logs', { kind: 'app', project: 'shop', name: 'x\0' }, /NUL/],
    ['show_logs', { kind: 'app', project: 'shop', name: 'x'.repeat(200) }, /invalid_request/],
    ['show_logs', { kind: 'app', project: 'shop', name: 'x', level: 'loud' }, /level must be one of/],
    ['show_logs', ['app'], /must be an object/],
    ['show_logs', null, /must be an object/],
    ['__proto__', {}, /There is no tool/],
  ];
  for (const [name, args, message] of cases) {
    const result = await tools.call(toolCaller(), name, args);
    t.ok(result.isError);
    t.match(result.text, message);
  }
});

t.test('the list has what the scopes and the role allow', async (t) => {
  const tools = await testTools();
  const namesFor = (session: Session) => tools.list(session).flatMap(({ name, readOnly }) => (readOnly ? [name] : []));
  const all = readTools.map(({ name }) => name);
  t.same(namesFor(testSession), all, 'a platform admin');
  const admins = ['show_gate_status', 'list_alerts'];
  t.same(
    namesFor({ ...testSession, role: 'member' }),
    all.filter((name) => !admins.includes(name)),
  );
  const read = namesFor(tokenSession());
  for (const name of ['list_projects', 'show_logs', 'list_alerts', 'list_dead_letters', 'show_schedule']) {
    t.notOk(read.includes(name), name);
  }
  t.ok(read.includes('show_workload'));
  t.same(namesFor(tokenSession({ scopes: ['logs:read'] })), [
    'whoami',
    'show_logs',
    'show_run_log',
    'show_deployment_log',
  ]);
  t.ok(namesFor(tokenSession({ scopes: ['write'] })).includes('list_dead_letters'));
  t.notOk(namesFor(tokenSession({ scopes: ['write'], projectRole: 'viewer' })).includes('list_dead_letters'));
  t.same(namesFor(tokenSession({ scopes: ['write'], projectRole: null })), ['whoami']);
});

t.test('a refusal is a result with the code of the API; a fault shows no cause', async (t) => {
  const handlers: Handlers = {
    'GET /projects/:project': async () => {
      throw new Problem('not_ready', 'Try again.');
    },
    'GET /projects/:project/environments': async () => {
      throw new Error('secret detail');
    },
  };
  const tools = await testTools({ handlers });
  const refused = await tools.call(toolCaller(), 'show_project', { project: 'shop' });
  t.same(dataOf(refused.text), { code: 'not_ready', message: 'Try again.' });
  t.match(refused, { isError: true, audit: false }, 'it leaves no entry');
  const failed = await tools.call(toolCaller(), 'list_environments', { project: 'shop' });
  t.match(dataOf(failed.text), { code: 'internal' });
  t.notMatch(failed.text, /secret detail/);
});

t.test('values of variables and the content of dead letters stay out', async (t) => {
  const handlers: Handlers = {
    'GET /projects/:project/apps/:app': async () => ({
      status: 200,
      body: { name: 'api', env: { DATABASE_URL: 'postgres://x', PORT: '1' } },
    }),
    'GET /projects/:project/functions/:function/dead-letters': async () => ({
      status: 200,
      body: { items: [{ id: '1', lastError: 'no', payload: '{"card":"4111"}' }] },
    }),
  };
  const tools = await testTools({ handlers });
  const app = await tools.call(toolCaller(), 'show_workload', { kind: 'app', project: 'shop', name: 'api' });
  t.same(dataOf(app.text), { name: 'api', env: { DATABASE_URL: '[hidden]', PORT: '[hidden]' } });
  const dead = await tools.call(toolCaller(), 'list_dead_letters', { project: 'shop', function: 'f' });
  t.same(dataOf(dead.text), { items: [{ id: '1', lastError: 'no' }] });
});

t.test('the secrets of the project are masked; without them, there is no result', async (t) => {
  const calls: unknown[] = [];
  const handlers: Handlers = {
    'GET /projects/:project/apps/:app/logs': async () => ({
      status: 200,
      body: { items: [{ pod: 'a', time: 'now', line: 'password is hunter2-hunter2' }] },
    }),
  };
  const args = { kind: 'app', project: 'shop', name: 'api' };
  const knowing = await testTools({
    handlers,
    projectRedact: async (project, userId, environment) => {
      calls.push({ project, userId, environment });
      return createRedact(['hunter2-hunter2']);
    },
  });
  const masked = await knowing.call(toolCaller(), 'show_logs', { ...args, environment: 'prod' });
  t.match(dataOf(masked.text), { items: [{ line: 'password is [redacted]' }] });
  t.same(calls, [{ project: 'shop', userId: testSession.userId, environment: 'prod' }]);
  const failing = await testTools({
    handlers,
    projectRedact: async () => {
      throw new Problem('unavailable', 'No.');
    },
  });
  const failed = await failing.call(toolCaller(), 'show_logs', args);
  t.match(dataOf(failed.text), { code: 'unavailable' });
  t.notMatch(failed.text, /hunter2/);
});
