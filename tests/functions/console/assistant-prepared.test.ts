import t from 'tap';
import { isForm, readPrepared, requestOf } from '../../../functions/console/ui/assistant/prepared-request.ts';
import { changeBody, createBody, newDraft, type Draft } from '../../../functions/console/ui/functions/draft.ts';
import { writeTools, prepare } from '../../../runtime/assistant/write-tools.ts';
import type { Route } from '../../../runtime/http/route.ts';

const code = 'export const handler = () => 1;\n';

/** Arguments of each tool. */
const cases: Readonly<Record<string, { args: object; operation: object }[]>> = {
  deploy_image: [
    { args: { image: 'a/b:2' }, operation: { kind: 'deploy', app: 'api', image: 'a/b:2' } },
    {
      args: { image: 'a/b:2', commit: 'abc' },
      operation: { kind: 'deploy', app: 'api', image: 'a/b:2', commit: 'abc' },
    },
  ],
  roll_back_app: [
    { args: {}, operation: { kind: 'rollback', app: 'api', withConfig: false } },
    {
      args: { revision: 3, withConfig: true },
      operation: { kind: 'rollback', app: 'api', revision: 3, withConfig: true },
    },
  ],
  restart_workload: [
    { args: { kind: 'app' }, operation: { kind: 'restart', of: 'app', name: 'api' } },
    { args: { kind: 'function' }, operation: { kind: 'restart', of: 'function', name: 'resize' } },
  ],
  scale_app: [{ args: { replicas: 0 }, operation: { kind: 'scale', app: 'api', replicas: 0 } }],
  cancel_deployment: [{ args: {}, operation: { kind: 'cancel', deployment: 'd1' } }],
  run_job: [{ args: {}, operation: { kind: 'run', job: 'sync' } }],
  set_variables: (['app', 'function', 'job'] as const).map((kind) => ({
    args: { kind, variables: { A: '1', B: '' } },
    operation: { kind: 'variables', of: kind, variables: { A: '1', B: '' } },
  })),
  redrive_dead_letters: [
    { args: {}, operation: { kind: 'redrive', name: 'resize' } },
    { args: { ids: ['e1', 'e2'] }, operation: { kind: 'redrive', name: 'resize', ids: ['e1', 'e2'] } },
  ],
  create_function: [
    {
      args: { function: 'hello', runtime: 'node', code },
      operation: { kind: 'create', name: 'hello', values: { name: 'hello', runtime: 'node', code, trigger: 'http' } },
    },
    {
      args: {
        function: 'nightly',
        runtime: 'python',
        code,
        trigger: 'cron',
        schedule: '0 2 * * *',
        timeZone: 'Europe/Berlin',
        dependencies: ['a@1.0.0', 'b@2.0.0'],
        variables: { LEVEL: 'debug', TEXT: "it's a #text", LINES: 'one\ntwo' },
      },
      operation: {
        kind: 'create',
        values: {
          trigger: 'cron',
          schedule: '0 2 * * *',
          dependencies: 'a@1.0.0\nb@2.0.0',
          variables: /^LEVEL=debug\n/,
        },
      },
    },
    {
      args: { function: 'work', runtime: 'node', code, trigger: 'redis', source: 'cache', list: 'jobs' },
      operation: { kind: 'create', values: { trigger: 'redis', source: 'cache', list: 'jobs' } },
    },
  ],
  update_function_code: [
    { args: { code }, operation: { kind: 'code', name: 'resize', values: { code } } },
    {
      args: { code, dependencies: ['a@1.0.0'] },
      operation: { kind: 'code', name: 'resize', values: { code, dependencies: 'a@1.0.0' } },
    },
  ],
};
const params = { project: 'shop', app: 'api', function: 'resize', job: 'sync', id: 'd1' };

t.test('the console shows and sends what each tool prepares', (t) => {
  for (const tool of writeTools) {
    const list = cases[tool.name] ?? [];
    t.ok(list.length > 0, `${tool.name} has cases`);
    for (const { args, operation } of list) {
      const kind = (args as { kind?: string }).kind ?? '';
      const path = tool.path.replaceAll('{kind}', kind);
      const body = tool.bodyOf?.({ ...args });
      const complete = { params, query: { environment: 'prod' }, body };
      const { request } = prepare(tool, { path } as Route, { ...args }, complete).prepared;
      const ready = readPrepared({ ...request, body: request.body && { ...request.body } }, 'shop');
      if (!ready) {
        t.fail(`${tool.name} is not known`);
        continue;
      }
      const { operation: read } = ready;
      t.match(ready, { environment: 'prod', operation });
      if (isForm(read)) {
        const { kind, values } = read;
        const before: Draft = { ...newDraft, name: 'resize', dependencies: 'old@1.0.0' };
        const after: Draft = { ...(kind === 'create' ? newDraft : before), ...values };
        t.same(kind === 'create' ? createBody(after) : changeBody(before, after), body, `the form of ${tool.name}`);
        continue;
      }
      const sent = requestOf({ environment: ready.environment, operation: read });
      const sentPath = `/api/v1/projects/shop/${sent.path.map(encodeURIComponent).join('/')}?environment=prod`;
      t.equal(`${sent.method} ${sentPath}`, `${request.method} ${request.path}`, tool.name);
      t.same(sent.query, { environment: 'prod' });
      const defaults = tool.name === 'roll_back_app' ? { withConfig: false } : {};
      t.same(sent.body, body && { ...defaults, ...body }, `${tool.name} sends the same`);
    }
  }
  t.end();
});

t.test('a request that is not known, or has more than the panel shows, cannot be sent', (t) => {
  const read = (method: string, path: string, body?: Record<string, unknown>) =>
    readPrepared({ method, path, ...(body && { body }) }, 'shop');
  const api = '/api/v1/projects/shop/apps/api';
  t.ok(read('PATCH', api, { replicas: 2 }));
  t.ok(read('POST', `${api}/restart`));
  const refused: [string, string, Record<string, unknown>?][] = [
    ['PATCH', '/api/v1/projects/blog/apps/api', { replicas: 2 }],
    ['PATCH', '/api/v1/projects/shop%2F..%2Fblog/apps/api', { replicas: 2 }],
    ['DELETE', api],
    ['DELETE', '/api/v1/projects/shop'],
    ['PATCH', api, { replicas: 2, image: 'evil' }],
    ['PATCH', api, { image: 'a', port: 1 }],
    ['PATCH', api, { replicas: -1 }],
    ['PATCH', api, { image: { toString: 'x' } }],
    ['PATCH', `${api}/env`, {}],
    ['PATCH', `${api}/env`, { A: null }],
    ['POST', `${api}/restart`, { discardEvents: true }],
    ['POST', `${api}/restart?environment=prod&discardEvents=true`],
    ['POST', `${api}/rollback`, { revision: 1.5 }],
    ['POST', '/api/v1/projects/shop/apps//restart'],
    ['POST', '/api/v1/projects/shop/constructor/x'],
    ['POST', 'https://evil.example/api/v1/projects/shop/apps/api/restart'],
    ['POST', '/api/v1/projects/shop/apps/%E0%A4%A/restart'],
    ['POST', '/api/v1/projects/shop/functions/f/dead-letters/redrive', { ids: [1] }],
    ['POST', '/api/v1/projects/shop/functions/f/dead-letters/redrive', { ids: [] }],
    ['POST', '/api/v1/projects/shop/apps/../restart'],
    ['POST', '/api/v1/projects/shop/functions/%2E%2E/restart'],
  ];
  for (const [method, path, body] of refused) {
    t.equal(read(method, path, body), undefined, `${method} ${path} ${JSON.stringify(body)}`);
  }
  // A name with a slash stays one segment.
  const slash = read('POST', '/api/v1/projects/shop/apps/a%2Fb/restart');
  t.match(slash, { operation: { kind: 'restart', name: 'a/b' } });
  t.end();
});
