import { join } from 'node:path';
import t from 'tap';
import { accepted, app, createdAt, deployment, id, sequence, world } from './world.ts';

const path = '/api/v1/projects/shop/apps/api';
const restarted = () => ({
  [`POST ${path}/restart`]: { status: 202, body: accepted },
  [`GET /api/v1/projects/shop/deployments/${id}`]: sequence(
    { body: { ...deployment, status: 'rolling_out' } },
    { body: deployment },
  ),
});
const hint = 'the change applies to the next deployment; apply it now: svc app restart api --project shop\n';

t.test('app create and update send the given settings, and nothing else', async (t) => {
  const { run, seen } = await world(t, {
    'POST /api/v1/projects/shop/apps': { status: 201, body: app },
    [`PATCH ${path}`]: { body: app },
  });
  const create = ['app', 'create', 'api', '--image', 'r/api:1', '--no-wait'];
  const settings = ['--port', '80', '--replicas', '0', '--health-path', '/up', '--memory', '512Mi', '--cpu', '500m'];
  const lists = ['--volume', 'a:/a', '--volume', 'b:/b', '--env', 'A=1', '--env', 'B=${A}=x'];
  t.equal((await run([...create, ...settings, ...lists])).code, 0);
  const pods = { port: 80, replicas: 0, healthPath: '/up', memory: '512Mi', cpu: '500m' };
  const volumes = [
    { name: 'a', path: '/a' },
    { name: 'b', path: '/b' },
  ];
  t.match(seen[0]?.body, { name: 'api', image: 'r/api:1', ...pods, volumes, env: { A: '1', B: '${A}=x' } });
  const update = ['app', 'update', 'api', '--no-wait'];
  const updates: [string[], object][] = [
    [settings, pods],
    [['--volume', 'a:/a'], { volumes: [volumes[0]] }],
    [['--no-volumes'], { volumes: [] }],
    [['--auto-rollback', 'off'], { autoRollback: false }],
    [['--release-command', "npm run 'db migrate'"], { releaseCommand: ['npm', 'run', 'db migrate'] }],
    [['--remove-release-command'], { releaseCommand: null }],
    [['--default-memory', '--default-cpu', '--default-health-path'], { memory: null, cpu: null, healthPath: null }],
  ];
  for (const [flags, body] of updates) {
    t.equal((await run([...update, ...flags])).code, 0);
    t.same(seen.at(-1)?.body, body);
  }
  const wrong = [
    ['--memory', '1Gi', '--default-memory'],
    ['--volume', 'a:/a', '--no-volumes'],
    ['--release-command', 'a', '--remove-release-command'],
    ['--release-command', 'a && b'],
    ['--volume', 'a'],
    ['--port', '0'],
    ['--replicas', '51'],
  ];
  for (const flags of wrong) t.equal((await run([...update, ...flags])).code, 2, flags.join(' '));
});

t.test('app create takes variables from a file, secrets from the shell or a prompt, and bindings', async (t) => {
  const { run, seen } = await world(t, { 'POST /api/v1/projects/shop/apps': { status: 201, body: app } });
  const file = join(t.testdir({ '.env': '# local\nA="from file"\nexport B=2\n' }), '.env');
  const create = ['app', 'create', 'api', '--image', 'r/api:1', '--no-wait'];
  const flags = ['--env-file', file, '--env', 'B=3', '--secret', 'ONE', '--secret', 'TWO'];
  const bound = ['--bind', 'orders', '--bind', 'stock=STOCK_'];
  const ended = await run([...create, ...flags, ...bound], { env: { ONE: 'from shell' }, typed: ['typed\n'] });
  t.equal(ended.code, 0, ended.stderr);
  t.match(ended.stderr, /Value of TWO: /);
  t.notMatch(ended.stderr, /typed/);
  t.match(seen[0]?.body, {
    env: { A: 'from file', B: '3' },
    secrets: { ONE: 'from shell', TWO: 'typed' },
    bindings: [{ service: 'orders' }, { service: 'stock', prefix: 'STOCK_' }],
  });
  const wrong: [string[], RegExp][] = [
    [['--secret', 'A=visible'], /takes a name.*visible to others/s],
    [['--secret', 'NONE'], /Cannot prompt without a terminal.*set the variable NONE/s],
    [['--secret', 'EMPTY'], /the secret EMPTY is empty/],
    [['--env-file', '/none/.env'], /Cannot read/],
  ];
  for (const [more, message] of wrong) {
    const refused = await run([...create, ...more], { env: { EMPTY: '' } });
    t.match([refused.code, refused.stderr], [2, message], more.join(' '));
  }
  t.equal(seen.length, 1);
});

t.test('app update waits until all pods have the settings', async (t) => {
  const { run } = await world(t, {
    [`PATCH ${path}`]: { body: app },
    [`GET ${path}`]: sequence(
      { body: { ...app, replicas: 2, status: 'deploying' } },
      { body: { ...app, replicas: 2 } },
      { body: { ...app, replicas: 2, readyReplicas: 2 } },
    ),
  });
  const { stderr } = await run(['app', 'update', 'api', '--memory', '1Gi']);
  t.equal(stderr, 'api: deploying (1 of 2 ready)\napi: running (1 of 2 ready)\n');
});

t.test('app update --replicas 0 waits until the app is stopped', async (t) => {
  const stopping = { ...app, replicas: 0, readyReplicas: 1, status: 'stopped' };
  const { run } = await world(t, {
    [`PATCH ${path}`]: { body: { ...stopping, status: 'deploying' } },
    [`GET ${path}`]: sequence({ body: stopping }, { body: { ...stopping, readyReplicas: 0 } }),
  });
  const { code, stdout, stderr } = await run(['app', 'update', 'api', '--replicas', '0']);
  t.equal(code, 0);
  t.equal(stderr, 'api: stopping (1 still ready)\n');
  t.match(stdout, /Status: +stopped/);
});

t.test('app update fails with the reason when only earlier pods serve', async (t) => {
  const message = 'Revision 2 failed: pods "api-1" is forbidden: exceeded quota';
  const { run, routes } = await world(t, {
    [`PATCH ${path}`]: { body: { ...app, status: 'deploying' } },
    [`GET ${path}`]: { body: { ...app, message } },
  });
  const update = ['app', 'update', 'api', '--memory', '999Gi'];
  const failed = await run(update);
  t.match(failed, {
    code: 1,
    stdout: '',
    stderr: /error: Revision 2 failed: .*exceeded quota \(failed\)\nhint: the old pods/,
  });
  t.match(await run(['app', 'update', 'api', '--auto-rollback', 'on']), { code: 0 }, 'a change that replaces no pods');
  routes[`GET ${path}`] = sequence({ body: { ...app, message } }, { body: app });
  t.match(await run(update), { code: 0, stdout: /running/ }, 'a change that fixes it');
});

t.test('app update says that new pods keep the variables of the last rollout', async (t) => {
  const { run, routes } = await world(t, { [`PATCH ${path}`]: { body: app }, [`GET ${path}`]: { body: app } });
  const scale = ['app', 'update', 'api', '--replicas', '2'];
  t.notMatch((await run(scale)).stderr, /restart/);
  routes[`GET ${path}`] = { body: { ...app, pendingRestart: true } };
  t.match(await run(scale), {
    code: 0,
    stderr: /keep the variables and secrets of the last rollout.*svc app restart api/,
  });
});

t.test('an app that is scaled from zero says so, too: its first pod starts with them', async (t) => {
  const starting = { ...app, replicas: 1, readyReplicas: 0, status: 'deploying', pendingRestart: true };
  const { run } = await world(t, {
    [`PATCH ${path}`]: { body: starting },
    [`GET ${path}`]: sequence({ body: starting }, { body: { ...starting, readyReplicas: 1, status: 'running' } }),
  });
  const scale = ['app', 'update', 'api', '--replicas', '1'];
  for (const flags of [[], ['--no-wait'], ['--no-wait', '-o', 'json']]) {
    const { code, stderr } = await run([...scale, ...flags]);
    t.equal(code, 0, stderr);
    t.match(stderr, /keep the variables and secrets of the last rollout.*svc app restart api --project shop/);
  }
});

t.test('app show prints all settings, and the changes that wait for a restart', async (t) => {
  const { run } = await world(t, {
    [`GET ${path}`]: {
      body: {
        ...app,
        memory: '512Mi',
        cpu: '500m',
        healthPath: '/up',
        env: { A: '1', B: '2' },
        pendingRestart: true,
        volumes: [{ name: 'data', path: '/data' }],
      },
    },
  });
  const { stdout } = await run(['app', 'show', 'api']);
  for (const line of [/Memory: +512Mi/, /CPU: +500m/, /Variables: +A, B\n/, /Volumes: +data:\/data/, /svc app restart/])
    t.match(stdout, line);
});

t.test('app env', async (t) => {
  const view = { variables: { A: '1', URL: 'http://${A}' }, pendingRestart: true };
  const { run, seen } = await world(t, {
    [`PATCH ${path}/env`]: { body: view },
    [`GET ${path}/env`]: { body: view },
    ...restarted(),
  });
  const set = await run(['app', 'env', 'set', 'api', 'A=1', 'EMPTY=', 'EQUALS=a=b', 'NUMBER=007']);
  t.match(set, { code: 0, stderr: hint });
  t.same(seen[0]?.body, { A: '1', EMPTY: '', EQUALS: 'a=b', NUMBER: '007' });
  t.equal(set.stdout, 'NAME   VALUE\nA      1\nURL    http://${A}\n');

  const at = await run(['app', 'env', 'set', 'api', 'A=2', '--restart']);
  t.equal(at.code, 0, at.stderr);
  t.match(at.stdout, /Revision: +2\n.*Status: +succeeded/s);
  t.match(at.stderr, /rolling out/);
  t.match(await run(['app', 'env', 'delete', 'api', 'A', 'B']), { code: 0, stderr: hint });
  t.same(seen.at(-1)?.body, { A: null, B: null });
  const list = await run(['app', 'env', 'list', 'api']);
  t.match(list, { code: 0, stderr: /running pods have other values; apply these now: svc app restart api/ });
  t.same(JSON.parse((await run(['app', 'env', 'list', 'api', '-o', 'json'])).stdout), view);
  t.match(await run(['app', 'env', 'set', 'api', 'A']), { code: 2, stderr: /takes NAME=value, not "A"/ });
  t.match(await run(['app', 'env', 'set', 'api']), { code: 2 });
});

t.test('app secret: values are read from a prompt or stdin, and printed nowhere', async (t) => {
  const secret = { name: 'DB_PASSWORD', updatedAt: createdAt, hasPrevious: true };
  const at = `${path}/secrets/DB_PASSWORD`;
  const { run, seen } = await world(t, {
    [`PUT ${at}`]: { body: secret },
    [`GET ${at}`]: { body: { ...secret, value: 'two\nlines' } },
    [`POST ${at}/restore`]: { body: secret },
    [`DELETE ${at}`]: { status: 204 },
    [`GET ${path}/secrets`]: { body: { items: [secret, { ...secret, name: 'T', hasPrevious: false }] } },
    ...restarted(),
  });
  const set = ['app', 'secret', 'set', 'api', 'DB_PASSWORD'];
  const typed = await run(set, { typed: ['hunter2\n'] });
  t.match(typed, { code: 0, stdout: /DB_PASSWORD +1 hour ago +kept/ });
  t.same(seen[0]?.body, { value: 'hunter2' });
  t.notMatch(typed.stdout + typed.stderr, /hunter2/);
  t.equal((await run([...set, '--value-stdin'], { stdin: 'two\nlines\n' })).code, 0);
  t.same(seen[1]?.body, { value: 'two\nlines' });
  t.match(await run(set), { code: 2, stderr: /use --value-stdin/ });
  t.match(await run([...set, '--value-stdin']), { code: 2, stderr: /empty/ });
  t.match(await run([...set, 'hunter2']), { code: 2 }, 'never as an argument');
  const pair = await run(['app', 'secret', 'set', 'api', 'DB_PASSWORD=hunter2'], { typed: ['hunter2\n'] });
  t.match(pair, { code: 2, stderr: /takes a name.*visible to others.*svc app secret set api DB_PASSWORD$/ms });
  t.notMatch(pair.stderr, /hunter2/);

  t.equal(
    (await run(['app', 'secret', 'list', 'api'])).stdout,
    'NAME          UPDATED      PREVIOUS\nDB_PASSWORD   1 hour ago   kept\nT             1 hour ago   -\n',
  );
  t.equal((await run(['app', 'secret', 'reveal', 'api', 'DB_PASSWORD'])).stdout, 'two\nlines\n');
  t.match(await run(['app', 'secret', 'restore', 'api', 'DB_PASSWORD', '--restart']), {
    code: 0,
    stdout: /Revision: +2/,
  });
  t.match(await run(['app', 'secret', 'delete', 'api', 'DB_PASSWORD', '--yes']), {
    code: 0,
    stderr: `secret DB_PASSWORD is deleted\n${hint}`,
  });
  t.match(await run(['app', 'secret', 'delete', 'api', 'DB_PASSWORD'], { typed: ['n\n'] }), { code: 1 });
});

t.test('app restart follows the deployment, or returns at once', async (t) => {
  const { run, seen } = await world(t, restarted());
  t.match(await run(['app', 'restart', 'api']), { code: 0, stdout: /Status: +succeeded/, stderr: /rolling out/ });
  t.match(await run(['app', 'restart', 'api', '--no-wait']), { code: 0, stdout: 'revision 2 of api is accepted\n' });
  t.equal(seen.at(-1)?.method, 'POST');
});

t.test('app bindings shows the variables in short, and those without the prefix by name', async (t) => {
  const bindings = [
    { service: 'orders', type: 'postgres', prefix: 'DB_', variables: ['DB_HOST', 'DB_PORT', 'DATABASE_URL'] },
    { service: 'stock', type: 'postgres', prefix: 'STOCK_', variables: ['STOCK_HOST', 'STOCK_URL'] },
    { service: 'gone', status: 'deleting', variables: [] },
  ].map((binding) => ({ status: 'ready', ...binding }));
  const { run } = await world(t, { [`GET ${path}/bindings`]: { body: { items: bindings } } });
  const rows = (await run(['app', 'bindings', 'api'])).stdout.trimEnd().split('\n').slice(1);
  t.same(
    rows.map((row) => row.split(/ {3,}/).at(-1)),
    ['DB_*, DATABASE_URL', 'STOCK_*', '-'],
  );
});
