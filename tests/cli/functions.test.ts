import { join } from 'node:path';
import t from 'tap';
import { gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import { functionLimits } from '../../runtime/contracts/resources/function.ts';
import { createdAt, id, sequence, world } from './world.ts';

const functions = '/api/v1/projects/shop/functions';
const run = { name: 'nightly-test-00c0ffee00', trigger: 'test', status: 'succeeded', actor: 'ada@svc.test', createdAt };
const nightly = {
  id,
  name: 'nightly',
  project: 'shop',
  environment: 'prod',
  runtime: 'node',
  trigger: 'cron',
  status: 'scheduled',
  replicas: 0,
  readyReplicas: 0,
  idleTimeoutSeconds: 300,
  ...functionLimits({}),
  createdAt,
  schedule: '0 2 * * *',
  scheduleDescription: 'At 02:00',
  timeZone: 'Europe/Berlin',
  overlap: 'Forbid',
  lastRun: run,
  nextRuns: ['2026-11-22T01:00:00.000Z', '2026-11-23T01:00:00.000Z'],
  env: {},
  volumes: [],
};
const { trigger: _, schedule: __, scheduleDescription: ___, ...rest } = nightly;
const { timeZone: ____, overlap: _____, nextRuns: ______, lastRun: _______, ...plain } = rest;
const hello = { ...plain, name: 'hello', trigger: 'http', status: 'idle', url: 'http://fn-hello.test' };

t.test('function create sends the schedule, waits until it is set, and shows its next times', async (t) => {
  const { run: svc, seen } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: { ...nightly, status: 'pending' } },
    [`GET ${functions}/nightly`]: sequence({ body: { ...nightly, status: 'pending' } }, { body: nightly }),
  });
  const file = join(t.testdir({ 'nightly.js': 'code' }), 'nightly.js');
  const create = ['function', 'create', 'nightly', '--code-file', file];
  const ran = await svc([...create, '--trigger', 'cron', '--schedule', '0 2 * * *', '--time-zone', 'Europe/Berlin']);
  t.equal(ran.code, 0, ran.stderr);
  t.same(seen[0]?.body, {
    name: 'nightly',
    runtime: 'node',
    code: 'code',
    trigger: 'cron',
    schedule: '0 2 * * *',
    timeZone: 'Europe/Berlin',
  });
  t.equal(
    ran.stdout,
    `Function:     nightly
Project:      shop
Environment:  prod
Status:       scheduled
Runtime:      node
Trigger:      cron
Schedule:     0 2 * * * (Europe/Berlin)
Description:  At 02:00
Next runs:    2026-11-22T01:00:00.000Z, 2026-11-23T01:00:00.000Z
Last run:     nightly-test-00c0ffee00 succeeded
`,
  );
  const sent = seen.length;
  for (const [args, message] of [
    [['--trigger', 'cron'], /--trigger cron requires --schedule <cron>/],
    [['--schedule', '* * * * *'], /--schedule requires --trigger cron/],
    [['--time-zone', 'UTC'], /--time-zone requires --trigger cron/],
    [['--trigger', 'cron', '--schedule', '* * * * *', '--hostname', 'a.test'], /--hostname requires --trigger http/],
    [['--trigger', 'kafka'], /--trigger must be one of http, cron/],
  ] as const) {
    t.match(await svc([...create, ...args]), { code: 2, stderr: message }, args.join(' '));
  }
  t.equal(seen.length, sent, 'nothing is sent');
});

t.test(
  'function show prints the port of images and code, and the overlap policy; security refuses without a URL',
  async (t) => {
    const image = { ...hello, runtime: undefined, image: 'r.test/resize:3' };
    const { run: svc } = await world(t, {
      [`GET ${functions}/hello`]: { body: { ...hello, port: 9100 } },
      [`GET ${functions}/resize`]: { body: { ...image, port: 9000 } },
      [`GET ${functions}/nightly`]: { body: { ...nightly, overlap: 'Replace' } },
    });
    t.match((await svc(['function', 'show', 'resize'])).stdout, /^Port: +9000$/m);
    t.match((await svc(['function', 'show', 'hello'])).stdout, /^Port: +9100$/m, 'of inline code, too');
    t.match((await svc(['function', 'show', 'nightly'])).stdout, /^Overlap: +Replace$/m);
    t.match((await svc(['function', 'security', 'show', 'nightly'])).stderr, /^nightly has no URL/);
  },
);

t.test('function create returns once the URL works, and says when it does not from this machine', async (t) => {
  const { run: svc, routes, api, seen } = await world(t);
  const routed = { ...hello, url: api };
  const of = { 'x-request-id': 'r1' };
  routes[`POST ${functions}`] = { status: 201, body: { ...routed, status: 'pending' } };
  routes[`GET ${functions}/hello`] = { body: routed };
  routes[`GET ${gateProbePath}`] = sequence(
    { status: 404, body: '404 page not found' },
    { status: 404, body: { code: 'unknown_host' }, headers: of },
    { status: 404, body: { code: 'not_found' }, headers: of },
  );
  const create = ['function', 'create', 'hello', '--image', 'r/hello:1'];
  t.match(await svc(create), { code: 0, stderr: '' });
  t.equal(seen.filter(({ path }) => path === gateProbePath).length, 3);
  routes[`GET ${gateProbePath}`] = { status: 401, body: { code: 'invalid_key' } };
  t.match(await svc(create), { code: 0, stderr: '' }, 'its gate answers');
  routes[`GET ${gateProbePath}`] = { status: 404, body: '404 page not found' };
  t.match(await svc(create), { code: 0, stderr: /^the ingress does not serve console\S+ yet/ });
  routes[`GET ${functions}/hello`] = { body: { ...hello, url: 'http://fn-hello.localhost:1' } };
  t.match(await svc(create), {
    code: 0,
    stderr: 'http://fn-hello.localhost:1 is unreachable from this machine: connection refused\n',
  });
});

t.test('function create derives the language from the file name', async (t) => {
  const { run: svc, seen } = await world(t, { [`POST ${functions}`]: { status: 201, body: hello } });
  const folder = t.testdir({ 'hello.py': 'code', 'hello.mjs': 'code' });
  const create = ['function', 'create', 'hello', '--no-wait', '--code-file'];
  for (const [args, runtime] of [
    [[join(folder, 'hello.py')], 'python'],
    [[join(folder, 'hello.mjs')], 'node'],
    [[join(folder, 'hello.mjs'), '--runtime', 'python'], 'python'],
    [[join(folder, 'hello.py'), '--dependency', 'a@1', '--dependency', 'b@2'], 'python'],
  ] as const) {
    t.equal((await svc([...create, ...args])).code, 0);
    t.match(seen.at(-1)?.body, { runtime });
  }
  t.match(seen.at(-1)?.body, { dependencies: ['a@1', 'b@2'] });
});

t.test('code is read from standard input as it is', async (t) => {
  const { run: svc, seen } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: hello },
    [`PATCH ${functions}/hello`]: { body: hello },
  });
  const stdin = 'export const handler = () => "ä";\n\n';
  const create = ['function', 'create', 'hello', '--no-wait', '--code-file', '-'];
  t.equal((await svc(create, { stdin })).code, 0);
  t.same(seen[0]?.body, { name: 'hello', runtime: 'node', code: stdin });
  t.equal((await svc([...create, '--runtime', 'python'], { stdin })).code, 0);
  t.match(seen[1]?.body, { runtime: 'python', code: stdin });
  t.equal((await svc(['function', 'update', 'hello', '--no-wait', '--code-file', '-'], { stdin })).code, 0);
  t.same(seen[2]?.body, { code: stdin });
  t.match(await svc(create, { stdin: '' }), { code: 2, stderr: /Standard input is empty/ });
  t.match(await svc(create, { stdin: 'x'.repeat(600_000) }), { code: 2, stderr: /Standard input is too large/ });
  t.equal(seen.length, 3);
});

t.test('an image replaces a file', async (t) => {
  const image = 'registry.example.com/shop/resize:3';
  const { runtime: _, ...rest } = hello;
  const resize = { ...rest, image };
  const { run: svc, seen } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: resize },
    [`PATCH ${functions}/hello`]: { body: resize },
    [`GET ${functions}`]: { body: { items: [resize] } },
  });
  const create = ['function', 'create', 'hello', '--no-wait'];
  t.match(await svc([...create, '--image', image, '--port', '9000']), { code: 0, stdout: /Image: +registry/ });
  t.same(seen[0]?.body, { name: 'hello', image, port: 9000 });
  t.match(await svc(['function', 'update', 'hello', '--image', image, '--no-wait']), { code: 0 });
  t.same(seen[1]?.body, { image });
  t.match((await svc(['function', 'list'])).stdout, /hello +idle +0 +image/);
  const sent = seen.length;
  t.match(await svc(create), { code: 2, stderr: /--code-file <file> for code, or --image <image>/ });
  for (const flag of ['--code-file', '--runtime', '--dependency']) {
    const refused = await svc([...create, '--image', image, flag, flag === '--runtime' ? 'node' : 'a@1.0.0']);
    t.match(refused, { code: 2, stderr: `${flag} cannot be combined with --image` }, flag);
  }
  t.equal(seen.length, sent, 'nothing is sent');
});

t.test('function gate and security have the same commands as apps', async (t) => {
  const gate = `${functions}/hello/gate`;
  const security = { headers: true, csp: ['cdn.example.com'] };
  const { run: svc, seen } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: hello },
    [`PUT ${gate}`]: { body: { gate: 'applying' } },
    [`GET ${gate}`]: { body: { gate: 'gated' } },
    [`PATCH ${functions}/hello`]: { body: { ...hello, security, gate: 'gated' } },
    [`GET ${functions}/hello`]: { body: { ...hello, security, gate: 'gated' } },
  });
  t.match(await svc(['function', 'gate', 'enable', 'hello']), { code: 0, stdout: 'gated\n' });
  t.match(seen[0], { body: { enabled: true } });
  t.match(await svc(['function', 'gate', 'status', 'hello']), { code: 0, stdout: /Gate: +gated/ });
  t.match(await svc(['function', 'security', 'set', 'hello', '--csp', 'cdn.example.com']), {
    code: 0,
    stdout: 'Function:  hello\nHeaders:   on\nPolicy:    self cdn.example.com\n',
  });
  t.same(seen.at(-1)?.body, { security: { csp: ['cdn.example.com'] } });
  t.match((await svc(['function', 'show', 'hello'])).stdout, /Gate: +gated\nSecurity: +headers on, policy self cdn/);
  const file = join(t.testdir({ 'hello.js': 'code' }), 'hello.js');
  const create = ['function', 'create', 'hello', '--no-wait', '--code-file', file];
  await svc([...create, '--no-security-headers', '--csp', 'self']);
  t.match(seen.at(-1)?.body, { security: { headers: false, csp: [] } });
});

t.test('function update sends the named fields, and nothing without any', async (t) => {
  const { run: svc, seen } = await world(t, { [`PATCH ${functions}/hello`]: { body: hello } });
  const file = join(t.testdir({ 'hello.js': 'new' }), 'hello.js');
  const update = ['function', 'update', 'hello', '--no-wait'];
  t.match(await svc([...update, '--code-file', file, '--idle-timeout', '1h', '--dependency', 'a@1.0.0']), { code: 0 });
  t.same(seen[0]?.body, { code: 'new', idleTimeoutSeconds: 3600, dependencies: ['a@1.0.0'] });
  t.match(await svc([...update, '--no-dependencies', '--default-hostname']), { code: 0 });
  t.same(seen[1]?.body, { dependencies: [], hostname: null });
  t.match(await svc(update), { code: 2, stderr: /Nothing to change/ });
  t.match(await svc([...update, '--no-dependencies', '--dependency', 'a@1.0.0']), {
    code: 2,
    stderr: /either|cannot set and remove/,
  });
  t.equal(seen.length, 2);
});

t.test('function list shows functions without a project too, and function logs names its lines', async (t) => {
  const items = [hello, { ...hello, name: 'stray', project: '', environment: '' }];
  const cli = await world(t, { 'GET /api/v1/functions': { body: { items } } });
  const listed = await cli.run(['function', 'list'], { env: { SVC_PROJECT: '' } });
  t.match(listed.stdout, /^hello +shop\/prod .*\nstray +- /m);
  t.match((await cli.run(['function', 'logs', '--help'])).stdout, /--since <duration> .*default 1h/);
});

t.test('function list shows schedules if there are any', async (t) => {
  const cli = await world(t, { [`GET ${functions}`]: { body: { items: [hello, nightly] } } });
  t.equal(
    (await cli.run(['function', 'list'])).stdout,
    `FUNCTION   STATUS      PODS   RUNTIME   SCHEDULE    DESCRIPTION   LAST RUN                URL                    CREATED
hello      idle        0      node      -           -             -                       http://fn-hello.test   1 hour ago
nightly    scheduled   0      node      0 2 * * *   At 02:00      succeeded, 1 hour ago   -                      1 hour ago
`,
  );
  cli.routes[`GET ${functions}`] = { body: { items: [hello] } };
  t.notMatch((await cli.run(['function', 'list'])).stdout, 'SCHEDULE');
});

t.test('function test waits for the end of the run, and ends with its exit code', async (t) => {
  const accepted = { id: run.name, status: 'pending', statusUrl: 'http://x/y' };
  const at = `GET ${functions}/nightly/runs/${run.name}`;
  const cli = await world(t, {
    [`POST ${functions}/nightly/test-runs`]: { status: 202, body: accepted },
    [at]: sequence({ body: { ...run, status: 'running' } }, { body: run }),
    [`GET ${functions}/nightly/runs`]: { body: { items: [run] } },
    [`GET ${functions}/nightly/run-logs`]: { body: { run: run.name, pods: [{ name: 'p', log: 'done\n' }] } },
  });
  const ran = await cli.run(['function', 'test', 'nightly']);
  t.match(ran, { code: 0, stderr: `${run.name}: running\n`, stdout: /Status: +succeeded\nTrigger: +test/ });
  t.same(JSON.parse((await cli.run(['function', 'test', 'nightly', '--no-wait', '-o', 'json'])).stdout), accepted);
  cli.routes[at] = { body: { ...run, status: 'failed', message: 'The program exited with code 1: boom' } };
  t.match(await cli.run(['function', 'test', 'nightly']), {
    code: 1,
    stderr:
      /failed: The program exited with code 1: boom \(run_failed\)\nhint: svc function logs nightly --run nightly-test-/,
  });
  t.match((await cli.run(['function', 'runs', 'nightly'])).stdout, /nightly-test-00c0ffee00 +succeeded +test \(ada/);
  t.match(await cli.run(['function', 'logs', 'nightly', '--run', run.name]), { code: 0, stdout: 'done\n' });
});

t.test(
  'function schedule shows the description and the next times of a function, or of suggested schedules',
  async (t) => {
    const nextRuns = ['2026-11-22T01:00:00.000Z', '2026-11-23T01:00:00.000Z'];
    const preview = { schedule: '0 2 * * *', description: 'At 02:00', timeZone: 'Europe/Berlin' };
    const cli = await world(t, {
      'GET /api/v1/schedules/next': { body: { ...preview, nextRuns } },
      'GET /api/v1/schedules/presets': { body: { items: [{ schedule: '0 * * * *', description: 'hourly' }] } },
    });
    const ran = await cli.run(['function', 'schedule', '0 2 * * *', '--time-zone', 'Europe/Berlin']);
    t.match(ran, {
      code: 0,
      stdout: `Description:  At 02:00\nTime zone:    Europe/Berlin\nNext runs:    ${nextRuns.join(', ')}\n`,
    });
    t.same(cli.seen[0]?.query, { schedule: '0 2 * * *', timeZone: 'Europe/Berlin' });
    t.match((await cli.run(['function', 'schedule'])).stdout, /0 \* \* \* \* +hourly/);
  },
);

t.test("function logs: lines of the last hour, or with --since and -f; a run's for a cron function", async (t) => {
  const lines = { items: [{ pod: 'p1', time: '2026-11-21T12:00:00.000000000Z', line: 'hi' }] };
  const cli = await world(t, {
    [`GET ${functions}/hello`]: { body: hello },
    [`GET ${functions}/nightly`]: { body: nightly },
    [`GET ${functions}/hello/logs`]: { body: lines },
    [`GET ${functions}/nightly/logs`]: { body: lines },
    [`GET ${functions}/nightly/run-logs`]: { body: { run: run.name, pods: [{ name: 'p', log: 'done\n' }] } },
  });
  t.match(await cli.run(['function', 'logs', 'hello']), { code: 0, stdout: 'hi\n' });
  t.match(cli.seen.at(-1), { query: { sinceSeconds: '3600' } });
  t.match(await cli.run(['function', 'logs', 'nightly']), { code: 0, stdout: 'done\n' });
  t.match(await cli.run(['function', 'logs', 'nightly', '--since', '7d', '--tail', '5']), { code: 0, stdout: 'hi\n' });
  t.match(cli.seen.at(-1), { query: { sinceSeconds: '604800', tail: '5' } });
  t.match(await cli.run(['function', 'logs', 'nightly', '--since', '1h', '--run', run.name]), { code: 2 });
  const marked = [{ run: run.name }, { pod: 'p', time: '', line: 'done' }, { run: run.name, ended: 'succeeded' }];
  cli.routes[`GET ${functions}/nightly/run-logs`] = {
    body: marked.map((one) => JSON.stringify(one)).join('\n') + '\n',
  };
  t.match(await cli.run(['function', 'logs', 'nightly', '-f', '--run', run.name]), {
    code: 0,
    stdout: 'done\n',
    stderr: `run ${run.name} succeeded\n`,
  });
  t.match(cli.seen.at(-1)?.query, { follow: 'true', run: run.name });
});
