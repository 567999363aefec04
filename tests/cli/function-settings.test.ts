import t from 'tap';
import { functionLimits } from '../../runtime/contracts/resources/function.ts';
import { createdAt, id, sequence, world } from './world.ts';

const functions = '/api/v1/projects/shop/functions';
const path = `${functions}/hello`;
const hello = {
  id,
  name: 'hello',
  project: 'shop',
  environment: 'prod',
  runtime: 'node',
  trigger: 'http',
  status: 'running',
  replicas: 1,
  readyReplicas: 1,
  idleTimeoutSeconds: 300,
  ...functionLimits({}),
  env: {},
  volumes: [],
  createdAt,
};
const hint =
  'the change applies to the next cold start or run; apply it now: svc function restart hello --project shop\n';
const restarted = () => ({
  [`POST ${path}/restart`]: { body: { ...hello, pendingRestart: true } },
  [`GET ${path}`]: sequence(
    { body: { ...hello, pendingRestart: true } },
    { body: { ...hello, pendingRestart: false } },
  ),
});

t.test('create and update send the given pod settings, and nothing else', async (t) => {
  const { run, seen } = await world(t, {
    [`POST ${functions}`]: { status: 201, body: hello },
    [`PATCH ${path}`]: { body: hello },
  });
  const pods = ['--memory', '512Mi', '--cpu', '500m', '--volume', 'a:/a', '--volume', 'b:/b'];
  const body = {
    memory: '512Mi',
    cpu: '500m',
    volumes: [
      { name: 'a', path: '/a' },
      { name: 'b', path: '/b' },
    ],
  };
  const create = ['function', 'create', 'hello', '--image', 'r/hello:1', '--no-wait'];
  t.equal((await run([...create, ...pods, '--env', 'A=1', '--env', 'B=${A}=x'])).code, 0);
  t.same(seen[0]?.body, { name: 'hello', image: 'r/hello:1', ...body, env: { A: '1', B: '${A}=x' } });
  const updates: [string[], object][] = [
    [pods, body],
    [['--no-volumes'], { volumes: [] }],
    [['--default-memory', '--default-cpu'], { memory: null, cpu: null }],
  ];
  for (const [flags, sent] of updates) {
    t.equal((await run(['function', 'update', 'hello', ...flags, '--no-wait'])).code, 0);
    t.same(seen.at(-1)?.body, sent);
  }
  t.equal((await run(['function', 'update', 'hello', '--cpu', '1', '--default-cpu'])).code, 2);
  t.equal((await run([...create, '--env', 'A'])).code, 2);
});

t.test('show prints all settings, and the changes that wait for a restart', async (t) => {
  const settings = { memory: '512Mi', cpu: '500m', env: { A: '1', B: '2' }, volumes: [{ name: 'd', path: '/d' }] };
  const { run } = await world(t, { [`GET ${path}`]: { body: { ...hello, ...settings, pendingRestart: true } } });
  const { stdout } = await run(['function', 'show', 'hello']);
  t.match(
    stdout,
    /Memory: +512Mi\nCPU: +500m\nVariables: +A, B\nVolumes: +d:\/d\nChanges: +.*svc function restart hello/,
  );
});

t.test('env and secret change a function, and say how to apply the change', async (t) => {
  const view = { variables: { A: '1' }, pendingRestart: true };
  const secret = { name: 'TOKEN', updatedAt: createdAt, hasPrevious: false };
  const { run, seen } = await world(t, {
    [`PATCH ${path}/env`]: { body: view },
    [`GET ${path}/env`]: { body: view },
    [`PUT ${path}/secrets/TOKEN`]: { body: secret },
    [`GET ${path}/secrets`]: { body: { items: [secret] } },
    [`GET ${path}/secrets/TOKEN`]: { body: { ...secret, value: 'hunter2' } },
    [`POST ${path}/secrets/TOKEN/restore`]: { body: secret },
    [`DELETE ${path}/secrets/TOKEN`]: { status: 204 },
    ...restarted(),
  });
  t.match(await run(['function', 'env', 'set', 'hello', 'A=1']), { code: 0, stdout: /A +1/, stderr: hint });
  t.same(seen.at(-1)?.body, { A: '1' });
  t.match(await run(['function', 'env', 'list', 'hello']), {
    code: 0,
    stderr: /the running pods have other values; apply these now: svc function restart hello/,
  });
  t.match(await run(['function', 'env', 'delete', 'hello', 'A']), { code: 0 });
  t.same(seen.at(-1)?.body, { A: null });
  t.match(await run(['function', 'secret', 'set', 'hello', 'TOKEN', '--value-stdin'], { stdin: 'hunter2' }), {
    code: 0,
    stdout: /TOKEN/,
    stderr: hint,
  });
  t.match(await run(['function', 'secret', 'list', 'hello']), { code: 0, stdout: /TOKEN/ });
  t.match(await run(['function', 'secret', 'reveal', 'hello', 'TOKEN']), { code: 0, stdout: /hunter2/ });
  t.match(await run(['function', 'secret', 'restore', 'hello', 'TOKEN']), { code: 0 });
  t.match(await run(['function', 'secret', 'delete', 'hello', 'TOKEN', '--yes']), { code: 0 });
  const ran = await run(['function', 'env', 'set', 'hello', 'A=1', '--restart']);
  t.equal(ran.code, 0, ran.stderr);
  t.match(ran.stderr, 'hello: restarting (1 of 1 ready)\n');
  t.notMatch(ran.stderr, /the next cold start/);
});

t.test('restart waits until every pod was replaced, unless --no-wait is given', async (t) => {
  const { run, seen } = await world(t, restarted());
  const ran = await run(['function', 'restart', 'hello']);
  t.match(ran, { code: 0, stdout: /Status: +running\nPods: +1 of 1 ready/ });
  t.equal((await run(['function', 'restart', 'hello', '--no-wait'])).code, 0);
  t.equal(seen.at(-1)?.method, 'POST');
});

t.test('update follows a change: 0 when it is applied, 1 with the reason, 3 after the time-out', async (t) => {
  const failureMessage = 'The code failed to start (exit code 1): no such module; the previous pods keep serving.';
  const cron = { trigger: 'cron', schedule: '0 2 * * *', replicas: 0, readyReplicas: 0 };
  const failedRun = { name: 'hello-1', trigger: 'cron', status: 'failed', createdAt };
  const update = ['function', 'update', 'hello', '--idle-timeout', '1h'];
  const cases: [string, object[], Partial<{ code: number; stdout: RegExp; stderr: string | RegExp }>][] = [
    [
      'a moment later',
      [{ updating: true, status: 'failed', message: 'of before' }, { updating: true }, { updating: false }],
      { code: 0, stdout: /Status: +running/, stderr: 'hello: updating (1 of 1 pods ready)\n' },
    ],
    [
      'until the pods that it always has are ready',
      [
        { status: 'idle', minReplicas: 2, replicas: 0, readyReplicas: 0 },
        { minReplicas: 2, replicas: 2, readyReplicas: 2 },
      ],
      { code: 0, stdout: /Pods: +2 of 2 ready/, stderr: 'hello: starting (0 of 2 pods ready)\n' },
    ],
    ['at zero', [{ status: 'idle', replicas: 0, readyReplicas: 0 }], { code: 0, stderr: '' }],
    [
      'broken',
      [{ updating: true }, { status: 'failed', message: failureMessage }],
      { code: 1, stderr: /failed: The code.*keep/ },
    ],
    ['a schedule whose last run failed', [{ ...cron, status: 'failed', lastRun: failedRun }], { code: 0 }],
    ['a schedule that cannot be', [{ ...cron, status: 'failed', message: 'in the way' }], { code: 1 }],
    ['for too long', [{ updating: true }], { code: 3, stderr: /Timed out after 5 minutes/ }],
  ];
  for (const [name, answers, expected] of cases) {
    const bodies = answers.map((answer) => ({ body: { ...hello, ...answer } }));
    const { run } = await world(t, {
      [`PATCH ${path}`]: { body: { ...hello, updating: true } },
      [`GET ${path}`]: sequence(...bodies),
    });
    t.match(await run(update), expected, name);
  }
  const { run, seen } = await world(t, { [`PATCH ${path}`]: { body: { ...hello, updating: true } } });
  t.equal((await run([...update, '--no-wait'])).code, 0);
  t.equal(seen.length, 1);
});
