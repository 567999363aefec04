import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import t from 'tap';
import { app, sequence, world, type Seen } from './world.ts';

const project = '/api/v1/projects/shop';
const apps = `${project}/apps`;
const fn = {
  id: app.id,
  name: 'hello',
  project: 'shop',
  environment: 'prod',
  status: 'running',
  trigger: 'http',
  url: 'https://fn-hello.apps.example.com',
  port: 8080,
  replicas: 0,
  readyReplicas: 0,
  minReplicas: 0,
  maxReplicas: 5,
  concurrency: 10,
  targetRate: 200,
  idleTimeoutSeconds: 300,
  requestTimeoutSeconds: 60,
  env: {},
  volumes: [],
  pendingRestart: false,
  createdAt: app.createdAt,
};
const at = (second: number) => `2026-11-21T11:00:0${second}Z`;

t.test('open prints the URL without a browser, and finds an app or a function by its name', async (t) => {
  const { run } = await world(t, {
    [`GET ${apps}/api`]: { body: app },
    [`GET ${project}/functions/hello`]: { body: fn },
    [`GET ${project}/functions/nightly`]: { body: { ...fn, trigger: 'cron', url: undefined } },
    [`GET ${apps}/evil`]: { body: { ...app, url: 'file:///etc/passwd' } },
  });
  t.equal((await run(['open', 'api'])).stdout, `${app.url}\n`);
  t.equal((await run(['open', 'hello'], { terminal: true })).stdout, `${fn.url}\n`, 'there is no display');
  t.same(JSON.parse((await run(['open', 'function', 'hello', '-ojson'])).stdout), { name: 'hello', url: fn.url });
  t.match(await run(['open', 'function', 'nightly']), { code: 2, stderr: /has no URL/ });
  t.match(await run(['open', 'app', 'evil']), { code: 2, stdout: '', stderr: /has no URL/ });
  t.match((await run(['open', 'console'])).stdout, /^https?:\/\/\S+\n$/, 'the web console has the address of the API');
  t.match(await run(['open', 'job', 'x']), { code: 2, stderr: /Use app or function/ });
});

t.test('open says whether the workload or its project is missing', async (t) => {
  const missing = (message: string) => ({ status: 404, body: { code: 'not_found', message } });
  const { run, routes } = await world(t, {
    [`GET ${apps}/none`]: missing('There is no app "none".'),
    [`GET ${project}/functions/none`]: missing('There is no function "none".'),
  });
  t.match(await run(['open', 'none']), {
    code: 1,
    stderr:
      'error: There is no app or function "none". (not_found)\nhint: list them: svc app list --project shop, svc function list --project shop\n',
  });
  const noProject = missing('There is no project "shop".');
  Object.assign(routes, { [`GET ${apps}/none`]: noProject, [`GET ${project}/functions/none`]: noProject });
  t.match(await run(['open', 'none']), { code: 1, stderr: 'error: There is no project "shop". (not_found)\n' });
});

t.test('open starts a browser on a terminal with a display', async (t) => {
  const folder = t.testdir({});
  const browser = join(folder, 'xdg-open');
  writeFileSync(
    browser,
    `#!/bin/sh\necho "$@" > '${folder}/opened.part'\nmv '${folder}/opened.part' '${folder}/opened'\n`,
  );
  chmodSync(browser, 0o755);
  const { run } = await world(t, { [`GET ${apps}/api`]: { body: app } });
  const env = { DISPLAY: ':0', PATH: `${folder}:${process.env['PATH']}` };
  t.match(await run(['open', 'api'], { terminal: true, env }), { code: 0, stdout: '', stderr: `opening ${app.url}\n` });
  while (!existsSync(join(folder, 'opened'))) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(readFileSync(join(folder, 'opened'), 'utf8'), `${app.url}\n`);
});

t.test('logs prints the lines of all apps, functions and jobs of an environment by time', async (t) => {
  const { run, seen } = await world(t, {
    [`GET ${apps}`]: { body: { items: [app] } },
    [`GET ${project}/functions`]: { body: { items: [fn] } },
    [`GET ${project}/jobs`]: { body: { items: [{ name: 'report' }] } },
    [`GET ${project}/jobs/report/logs`]: { body: { items: [{ pod: 'r-1', time: at(4), line: 'four' }] } },
    [`GET ${apps}/api/logs`]: {
      body: {
        items: [
          { pod: 'api-1', time: at(1), line: 'one' },
          { pod: 'api-1', time: at(3), line: 'three' },
        ],
      },
    },
    [`GET ${project}/functions/hello/logs`]: { body: { items: [{ pod: 'hello-1', time: at(2), line: 'two' }] } },
  });
  const { stdout } = await run(['logs', '--since', '10m', '-e', 'prod']);
  t.equal(stdout, 'api    | one\nhello  | two\napi    | three\nreport | four\n');
  t.match(seen.at(-1)?.query, { environment: 'prod', sinceSeconds: '600' });
  t.equal((await run(['logs', '--app', 'api', '--jq', '.[0].workload'])).stdout, 'api\n');
  t.equal((await run(['logs', '--job', 'report'])).stdout, 'report | four\n');
});

t.test('logs says once that the log store is away, and of which workload lines are deleted', async (t) => {
  const items = [{ pod: 'p', time: at(1), line: 'one' }];
  const { run, routes } = await world(t, {
    [`GET ${apps}/api/logs`]: { body: { items, store: 'unavailable' } },
    [`GET ${project}/functions/hello/logs`]: { body: { items, store: 'unavailable' } },
  });
  const both = ['logs', '--app', 'api', '--function', 'hello'];
  t.match(await run(both), { code: 0, stderr: /^the log store is unavailable: [^\n]*\n$/ });
  routes[`GET ${apps}/api/logs`] = { body: { items, store: 'ok' } };
  const keptSince = '2026-11-20T10:00:00.000Z';
  routes[`GET ${project}/functions/hello/logs`] = { body: { items, store: 'ok', keptSince } };
  t.match(await run(both), { code: 0, stderr: 'hello: lines before 2026-11-20T10:00:00Z are deleted\n' });
});

t.test('logs -f follows several workloads, and ends when all are deleted', async (t) => {
  const line = (pod: string, text: string) => ({ body: `${JSON.stringify({ pod, time: at(1), line: text })}\n` });
  const gone = { status: 404, body: { code: 'not_found', message: 'gone' } };
  const { run } = await world(t, {
    [`GET ${apps}/api/logs`]: sequence(line('api-1', 'one'), gone),
    [`GET ${project}/functions/hello/logs`]: sequence(line('hello-1', 'two'), gone),
  });
  const { code, stdout, stderr } = await run(['logs', '-f', '--app', 'api', '--function', 'hello']);
  t.equal(code, 0);
  t.same(stdout.trim().split('\n').toSorted(), ['api   | one', 'hello | two']);
  t.same(stderr.trim().split('\n').toSorted(), ['api is deleted', 'hello is deleted']);
  const many = Array.from({ length: 21 }, (_, index) => ['--app', `a${index}`]).flat();
  t.match(await run(['logs', '-f', ...many]), { code: 2, stderr: /at most 20 workloads, not 21/ });
});

const variables = { LEVEL: 'debug', URL: 'http://a/?b=${C}', TEXT: 'two\nlines # "x"', SPACE: ' a ' };
const secrets = [{ name: 'TOKEN', updatedAt: app.createdAt, hasPrevious: false }];
const view = { variables, pendingRestart: false };
const envRoutes = {
  [`GET ${apps}/api/env`]: { body: view },
  [`GET ${apps}/api/secrets`]: { body: { items: secrets } },
  [`GET ${apps}/api/secrets/TOKEN`]: { body: { ...secrets[0], value: "it's" } },
  [`PUT ${apps}/api/secrets/TOKEN`]: { body: secrets[0] },
  [`PATCH ${apps}/api/env`]: { body: view },
};

t.test('env pull writes a file that only its owner can read, with secrets only on request', async (t) => {
  const { run, seen } = await world(t, envRoutes);
  const file = join(t.testdir({}), 'prod.env');
  t.equal((await run(['app', 'env', 'pull', 'api', file])).code, 0);
  t.same({ ...parseEnv(readFileSync(file, 'utf8')) }, variables);
  t.equal(statSync(file).mode & 0o777, 0o600);
  t.notOk(seen.some(({ path }) => path.includes('secrets')));
  t.match(await run(['app', 'env', 'pull', 'api', file, '--secrets']), { code: 2, stderr: /--yes/ }, 'the file exists');
  t.equal((await run(['app', 'env', 'pull', 'api', file, '--secrets', '--yes'])).code, 0);
  t.same({ ...parseEnv(readFileSync(file, 'utf8')) }, { ...variables, TOKEN: "it's" });
});

t.test('env pull that cannot write says why, and leaves no file with secrets', async (t) => {
  const { run } = await world(t, envRoutes);
  const folder = t.testdir({ taken: {} });
  const pull = (file: string) => run(['app', 'env', 'pull', 'api', file, '--secrets', '--yes']);
  for (const [name, reason] of [
    ['missing/.env', 'no such file or directory'],
    ['taken', 'illegal operation on a directory'],
  ] as const) {
    const file = join(folder, name);
    t.same(await pull(file), { code: 2, stdout: '', stderr: `error: Cannot write ${file}: ${reason}. (usage)\n` });
  }
  t.same(readdirSync(folder), ['taken']);
});

t.test('a line of an environment file that is not NAME=value is refused, and not printed', async (t) => {
  const { run, seen } = await world(t, envRoutes);
  const file = join(t.testdir(), 'env');
  const push = async (content: string) => {
    writeFileSync(file, content);
    return run(['app', 'env', 'push', 'api', file, '--yes']);
  };
  for (const [content, line] of [
    ['BAD LINE\n', 1],
    ['# a comment\n\nLEVEL=info\nexport TOKEN\n', 4],
    ['TOKEN=-----BEGIN KEY-----\nhunter2\n-----END KEY-----\n', 2],
  ] as const) {
    t.strictSame(
      await push(content),
      {
        code: 2,
        stdout: '',
        stderr: `error: ${file}:${line}: the line is not NAME=value. (usage)\nhint: put a value of several lines in quotes\n`,
      },
      content,
    );
  }
  t.same(seen, []);
  t.equal((await push('# a comment\r\n\r\n  \nTEXT="two\nlines # \'x\'\n"\nexport LEVEL=info\nSPACE=\n')).code, 0);
  t.match(seen.at(-1)?.body, { TEXT: "two\nlines # 'x'\n", LEVEL: 'info', SPACE: '' });
});

t.test('env push shows the difference, asks, and changes only what differs', async (t) => {
  const { run, seen } = await world(t, envRoutes);
  const file = join(t.testdir({ env: 'LEVEL=info\nNEW=1\nTOKEN=t\nSPACE=" a "\n' }), 'env');
  const changes = () =>
    seen.filter(({ method }) => method !== 'GET').map(({ method, path, body }: Seen) => [method, path, body]);
  const push = ['app', 'env', 'push', 'api', file];
  const declined = await run(push, { typed: ['n\r'] });
  t.match(declined, {
    code: 1,
    stderr: /secrets.*TOKEN\n~ +LEVEL +debug → info\n\+ +NEW +1\n[^]*Change 2 variables of api\?/,
  });
  t.match(await run(push), { code: 2 });
  t.same(changes(), []);
  t.equal((await run([...push, '--yes'])).code, 0);
  t.same(changes(), [['PATCH', `${apps}/api/env`, { LEVEL: 'info', NEW: '1' }]]);
  const pruned = await run([...push, '--prune', '--secrets', '--yes']);
  t.match(pruned, { code: 0, stderr: /~ +TOKEN +\(secret\)\n- +URL +http/ });
  t.notMatch(pruned.stderr, /= t\b|TOKEN +t\b/, 'values of secrets are not shown');
  t.same(changes().slice(1), [
    ['PATCH', `${apps}/api/env`, { LEVEL: 'info', NEW: '1', URL: null, TEXT: null }],
    ['PUT', `${apps}/api/secrets/TOKEN`, { value: 't' }],
  ]);
  writeFileSync(file, 'LEVEL=debug\n');
  t.match(await run(push), { code: 0, stderr: /has these variables already/ });
  t.match(await run(['app', 'env', 'push', 'api', '/nothing']), { code: 2, stderr: /Cannot read/ });
});
