import t from 'tap';
import { app, sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/apps';
const web = { ...app, name: 'web', status: 'failed', message: 'crashed' };

t.test('--json prints the named fields of an object or of each object of a list', async (t) => {
  const { run } = await world(t, {
    [`GET ${path}`]: { body: { items: [app, web] } },
    [`GET ${path}/api`]: { body: app },
  });
  t.same(JSON.parse((await run(['app', 'list', '--json', 'name,status'])).stdout), [
    { name: 'api', status: 'running' },
    { name: 'web', status: 'failed' },
  ]);
  t.same(JSON.parse((await run(['app', 'show', 'api', '--json=name,message'])).stdout), { name: 'api', message: null });
});

t.test('--json alone lists the fields, and an unknown field is refused before anything is sent', async (t) => {
  const { run, seen } = await world(t);
  for (const args of [
    ['app', 'list', '--json'],
    ['app', 'show', '--json'],
    ['app', 'list', '--json', '-p', 'shop'],
  ]) {
    const { code, stdout } = await run(args);
    t.equal(code, 0);
    t.match(stdout, /^autoRollback\n(.+\n)*name\n(.+\n)*volumes\n$/);
  }
  t.match(await run(['app', 'list', '--json', 'name,statu']), {
    code: 2,
    stderr: /no field "statu"[^]*did you mean status\?/,
  });
  t.match(await run(['app', 'list', '--json', 'xyzzy']), { code: 2, stderr: /the fields are autoRollback, / });
  t.match(await run(['app', 'list', '--json', 'name', '-o', 'yaml']), { code: 2, stderr: /--json .* -o yaml/ });
  t.same(seen, []);
});

t.test('--jq prints what an expression selects: text as it is, anything else as JSON', async (t) => {
  const { run, seen } = await world(t, { [`GET ${path}`]: { body: { items: [app, web] } } });
  const jq = async (...args: string[]) => (await run(['app', 'list', ...args])).stdout;
  t.equal(await jq('--jq', '.[] | select(.status == "failed") | .name'), 'web\n');
  t.equal(
    await jq('-q', 'map({name, ready: .readyReplicas})'),
    '[{"name":"api","ready":1},{"name":"web","ready":1}]\n',
  );
  t.equal(await jq('--json', 'name', '--jq', '.[0]'), '{"name":"api"}\n');
  t.equal(await jq('--jq', 'length', '-o', 'json'), '2\n');
  t.equal(await jq('--jq', '.[].nothing // empty'), '');
  t.match(await run(['app', 'list', '--jq', '.[0].name | error']), { code: 1, stderr: 'error: --jq: api (jq)\n' });
  t.equal(await jq('--jq=-1'), '-1\n');
  const sent = seen.length;
  t.match(await run(['app', 'list', '--jq', '.[']), { code: 2, stderr: /^error: --jq: / }, 'a wrong expression');
  t.match(await run(['app', 'list', '--jq', '.', '-o', 'name']), { code: 2, stderr: /--jq .* -o name/ });
  t.equal(seen.length, sent, 'is found before anything is sent');
  t.match(await run(['app', 'list', '--jq', '.name']), {
    code: 1,
    stderr: /^error: --jq: Cannot index array.* \(jq\)$/m,
  });
});

t.test('--jq also selects of each line of a followed log', async (t) => {
  const line = (text: string) =>
    `${JSON.stringify({ pod: 'api-1', time: `2026-11-21T11:00:0${text}Z`, line: text })}\n`;
  const { run } = await world(t, {
    [`GET ${path}/api/logs`]: sequence(
      { body: line('1') + line('2') },
      { status: 404, body: { code: 'not_found', message: 'gone' } },
    ),
  });
  t.equal((await run(['app', 'logs', 'api', '-f', '--jq', '.line'])).stdout, '1\n2\n');
});

t.test('--watch in a pipe prints the list, then a line for each change, until Ctrl-C', async (t) => {
  const list = (...items: object[]) => ({ body: { items } });
  const answers = sequence(list(app, web), list(app, web), list({ ...app, status: 'stopped' }, web), list(web), list());
  const { run, seen } = await world(t, { [`GET ${path}`]: answers });
  const watch = (...args: string[]) => run(['app', 'list', '-w', ...args], { interruptAtOutput: 'web is deleted' });
  const { code, stdout } = await watch();
  t.equal(code, 130);
  t.match(stdout, /^APP .*\napi +running .*\nweb +failed .*\napi +stopped .*\napi is deleted\nweb is deleted\n$/);
  t.equal(seen.length, 5);
});

t.test('--watch prints changed objects as lines of JSON, or new results of --jq', async (t) => {
  const list = (...items: object[]) => ({ body: { items } });
  const replies = () => sequence(list(app, web), list({ ...app, status: 'stopped' }, web), list(web));
  const { run, routes } = await world(t, { [`GET ${path}`]: replies() });
  const end = { interruptAtOutput: 'deleted' };
  const { stdout } = await run(['app', 'list', '-w', '--json', 'name,status'], end);
  t.same(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
    [
      { name: 'api', status: 'running' },
      { name: 'web', status: 'failed' },
      { name: 'api', status: 'stopped' },
      { deleted: 'api' },
    ],
  );
  routes[`GET ${path}`] = replies();
  const selected = await run(['app', 'list', '-w', '--jq', '.[] | .status'], { interruptAtOutput: 'stopped' });
  t.match(selected, { code: 130, stdout: 'running\nfailed\nstopped\n' });
});

t.test('--watch replaces the output on a terminal, and survives an interruption of the platform', async (t) => {
  const unavailable = { status: 503, body: { code: 'unavailable', message: 'Try again.' } };
  const { run, routes } = await world(t, {
    [`GET ${path}/api`]: sequence({ body: app }, unavailable, { body: { ...app, status: 'stopped' } }),
  });
  const ran = await run(['app', 'show', 'api', '--watch'], { terminal: true, interruptAtOutput: 'stopped' });
  t.equal(ran.code, 130);
  const [nothing, ...screens] = ran.stdout.split('\u001B[2J\u001B[H');
  t.equal(nothing, '');
  t.match(screens, [/^App: +api\n(.+\n)*Status: +running\n/, /^App: +api\n(.+\n)*Status: +stopped\n/]);
  t.equal(ran.stderr, 'Try again.\n');
  routes[`GET ${path}/api`] = undefined;
  t.match(await run(['app', 'show', 'api', '-w']), { code: 1, stderr: /not_found/ }, 'a first failure ends it');
});

t.test('--watch asks less often while nothing changes', async (t) => {
  const times: number[] = [];
  let rounds = 0;
  const { run, clock } = await world(t, {
    [`GET ${path}`]: () => {
      times.push(clock.monotonic());
      return { body: { items: ++rounds < 8 ? [app] : [] } };
    },
  });
  await run(['app', 'list', '-w'], { interruptAtOutput: 'api is deleted' });
  t.same(
    times.slice(1).map((time, index) => time - (times[index] ?? 0)),
    [2_000, 3_000, 4_500, 6_750, 10_000, 10_000, 10_000],
  );
});
