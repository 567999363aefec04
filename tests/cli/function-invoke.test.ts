import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import t from 'tap';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import { functionLimits } from '../../runtime/contracts/resources/function.ts';
import { freePort } from '../support/servers.ts';
import { createdAt, id, sequence, world } from './world.ts';

const functions = '/api/v1/projects/shop/functions';
const hello = {
  id,
  name: 'hello',
  project: 'shop',
  environment: 'prod',
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

t.test('function invoke sends the given request, and prints the answer separately from messages', async (t) => {
  const { api, run, routes, seen } = await world(t);
  routes[`GET ${functions}/hello`] = { body: { ...hello, url: api.replace('console', 'fn-hello') } };
  routes['GET /'] = { body: 'hi', headers: { 'x-svc-cold-start': 'true' } };
  routes['PUT /items'] = { status: 201, body: { made: true } };
  t.match(await run(['function', 'invoke', 'hello']), {
    code: 0,
    stdout: 'hi',
    stderr: /^200 after \d+ ms, a cold start\n$/,
  });
  const put = ['--method', 'put', '--path', '/items?dry=1', '--data', '{"a":1}', '--header', 'X-Trace: 7'];
  t.match(await run(['function', 'invoke', 'hello', ...put]), { code: 0, stdout: '{"made":true}' });
  t.match(seen.at(-1), { body: { a: 1 }, query: { dry: '1' }, headers: { 'x-trace': '7', host: /^fn-hello\./ } });
  t.notOk(seen.at(-1)?.headers.authorization, 'the platform’s token is not sent to the function');
  const result = await run(['function', 'invoke', 'hello', '-o', 'json']);
  t.match(JSON.parse(result.stdout), { status: 200, body: 'hi' });
});

t.test('function invoke waits until the ingress knows the function, within a limit', async (t) => {
  const { api, run, routes, seen } = await world(t);
  routes[`GET ${functions}/hello`] = { body: { ...hello, url: api } };
  const unrouted = { status: 404, body: '404 page not found' };
  const unheardOf = { status: 404, body: { code: 'unknown_host' }, headers: { 'x-request-id': 'r1' } };
  const notFound = { status: 404, body: { code: 'not_found' }, headers: { 'x-request-id': 'r2' } };
  const probe = `GET ${gateProbePath}`;
  routes['POST /'] = sequence(unheardOf, { body: 'hi' });
  routes[probe] = sequence(unrouted, unheardOf, notFound);
  t.match(await run(['function', 'invoke', 'hello', '--data', '1']), {
    code: 0,
    stdout: 'hi',
    stderr: /^200 after \d+ ms\n$/,
  });
  t.equal(seen.filter(({ method }) => method === 'POST').length, 2, 'it is sent again only when it can arrive');
  routes['GET /'] = unrouted;
  routes[probe] = unrouted;
  t.match(await run(['function', 'invoke', 'hello']), {
    code: 1,
    stderr:
      /does not serve \S+ yet.*\n.*The answer is 404, of the ingress\. \(http_404\)\nhint: svc function show hello/s,
  });
});

t.test('function invoke fails when the function does, and sends no invalid request', async (t) => {
  const { api, run, routes, seen } = await world(t);
  routes[`GET ${functions}/hello`] = { body: { ...hello, url: api } };
  routes[`GET ${functions}/nightly`] = { body: { ...hello, name: 'nightly', trigger: 'cron' } };
  routes['GET /'] = { status: 500, body: 'broken' };
  t.match(await run(['function', 'invoke', 'hello']), {
    code: 1,
    stdout: 'broken',
    stderr: /The answer is 500\. \(http_500\)\nhint: svc function logs hello/,
  });
  const message = 'The dependencies cannot be installed: code E404.';
  routes[`GET ${functions}/hello`] = sequence(
    { body: { ...hello, url: api } },
    { body: { ...hello, url: api, status: 'failed', message } },
  );
  t.match(await run(['function', 'invoke', 'hello']), {
    code: 1,
    stderr:
      /The answer is 500\. Function "hello" failed: The dependencies cannot be installed: code E404\. \(http_500\)/,
  });
  routes[`GET ${functions}/hello`] = { body: { ...hello, url: api } };
  routes[`GET ${functions}/gated`] = { body: { ...hello, url: api, gate: 'gated' } };
  routes['GET /'] = { status: 401, body: 'no key' };
  t.match(await run(['function', 'invoke', 'gated']), { code: 1, stderr: /http_401\)\nhint: .*X-API-Key: <key>/ });
  routes['GET /'] = { status: 404, body: 'no such item', headers: { 'x-svc-cold-start': 'false' } };
  t.match(await run(['function', 'invoke', 'hello']), { code: 1, stderr: /^404 .*answer is 404\. .*function logs/s });
  t.match(await run(['function', 'invoke', 'nightly']), { code: 2, stderr: /no URL.*\nhint: svc function test/s });
  const events = { type: 'redis', source: 'cache', list: 'jobs', concurrency: 1 };
  routes[`GET ${functions}/work`] = { body: { ...hello, name: 'work', trigger: 'redis', events } };
  t.match(await run(['function', 'invoke', 'work']), { code: 2, stderr: /no URL.*\nhint: svc function events/s });
  const sent = seen.length;
  t.match(await run(['function', 'invoke', 'hello', '--header', 'nonsense']), { code: 2 });
  t.match(await run(['function', 'invoke', 'hello', '--method', 'a b']), { code: 2 });
  t.equal(seen.length, sent);
  t.match(await run(['function', 'invoke', 'hello', '--path', 'http://elsewhere.example/']), { code: 2 });
});

t.test('function run serves on this machine, restarts with every change, and ends with Ctrl-C', async (t) => {
  const { run } = await world(t);
  const file = join(
    t.testdir({ 'hello.js': 'export const handler = () => process.env.SVC_MODE ?? "one";' }),
    'hello.js',
  );
  const port = String(await freePort());
  const ask = async (): Promise<string> => {
    for (;;) {
      const answer = await fetch(`http://127.0.0.1:${port}`).catch(() => undefined);
      if (answer) return answer.text();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const env = { PATH: process.env['PATH'] ?? '' };
  const running = run(['function', 'run', '--code-file', file, '--port', port], {
    env,
    interruptAt: 'the function has exited',
  });
  t.equal(await ask(), 'one');
  writeFileSync(file, 'export const handler = () => "two";');
  while ((await ask()) !== 'two') await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(file, 'this is no code');
  const ran = await running;
  t.match(ran, { code: 0, stdout: /the code could not be loaded/, stderr: /the file has changed; restarting/ });
});

t.test('function run says what to do about a port in use, before it starts anything', async (t) => {
  const { run } = await world(t);
  const file = join(t.testdir({ 'hello.js': 'export const handler = () => "one";' }), 'hello.js');
  const other = createServer().listen(0);
  t.teardown(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  t.match(await run(['function', 'run', '--code-file', file, '--port', String(port)]), {
    code: 1,
    stdout: '',
    stderr: /port \d+ \(EADDRINUSE\); choose another port with --port/,
  });
});

t.test('function run --once is one run of a schedule, and fails as it does', async (t) => {
  const { run } = await world(t);
  const dir = t.testdir({
    'good.js': 'export const handler = (event, { trigger }) => console.log(`${trigger} ${process.env.GREETING}`);',
    'bad.js': 'export const handler = () => { throw new Error("no such table"); };',
  });
  const env = { PATH: process.env['PATH'] ?? '' };
  const once = (name: string) =>
    run(['function', 'run', '--once', '--env', 'GREETING=hi', '--code-file', join(dir, name)], { env });
  t.match(await once('good.js'), { code: 0, stdout: /"test hi"/ });
  t.match(await once('bad.js'), { code: 1, stdout: /no such table/, stderr: /run_failed/ });
  t.match(await once('none.js'), { code: 2 });
});
