import { join } from 'node:path';
import t from 'tap';
import { createdAt, id, sequence, world } from './world.ts';

const jobs = '/api/v1/projects/shop/jobs';
const run = { name: 'report-00c0ffee00', trigger: 'manual', status: 'succeeded', actor: 'ada@svc.test', createdAt };
const job = {
  id,
  name: 'report',
  project: 'shop',
  environment: 'prod',
  image: 'r.example.com/report:7',
  command: ['npm', 'run', 'report'],
  env: { MODE: 'full' },
  volumes: [{ name: 'data', path: '/data' }],
  schedule: '0 2 * * *',
  scheduleDescription: 'At 02:00',
  timeZone: 'Etc/UTC',
  overlap: 'Forbid',
  suspended: false,
  retries: 0,
  historyLimit: 5,
  status: 'scheduled',
  nextRunAt: '2026-11-22T02:00:00.000Z',
  lastRun: run,
  createdAt,
};
const query = ['-e', 'prod'];

t.test('job create sends the given flags, and prints the job', async (t) => {
  const { run, seen } = await world(t, { [`POST ${jobs}`]: { status: 201, body: job } });
  const ran = await run([
    'job',
    'create',
    'report',
    '--image',
    'r.example.com/report:7',
    ...query,
    '--command',
    'sh',
    '--command',
    '-c',
    '--command',
    'echo $A',
    '--command',
    '',
    '--env',
    'MODE=full',
    '--env',
    'URL=http://x?a=b',
    '--volume',
    'data:/data',
    '--schedule',
    '0 2 * * *',
    '--retries',
    '2',
    '--run-timeout',
    '10m',
    '--memory',
    '256Mi',
    '--history',
    '3',
  ]);
  t.equal(ran.code, 0, ran.stderr);
  t.same(seen[0]?.query, { environment: 'prod' });
  t.same(seen[0]?.body, {
    name: 'report',
    image: 'r.example.com/report:7',
    command: ['sh', '-c', 'echo $A', ''],
    env: { MODE: 'full', URL: 'http://x?a=b' },
    volumes: [{ name: 'data', path: '/data' }],
    schedule: '0 2 * * *',
    retries: 2,
    timeoutSeconds: 600,
    historyLimit: 3,
    memory: '256Mi',
  });
  t.equal(
    ran.stdout,
    `Job:          report
Project:      shop
Environment:  prod
Status:       scheduled
Image:        r.example.com/report:7
Command:      npm run report
Schedule:     0 2 * * * (Etc/UTC)
Description:  At 02:00
Next run:     2026-11-22T02:00:00.000Z
Last run:     report-00c0ffee00 succeeded
Variables:    MODE
Volumes:      data:/data
`,
  );
  await run(['job', 'create', 'report', '--image', 'r.example.com/report:7', '--shell', 'echo hi | wc']);
  t.same(seen[1]?.body, {
    name: 'report',
    image: 'r.example.com/report:7',
    command: ['/bin/sh', '-c', 'echo hi | wc'],
  });
});

t.test('an impossible combination is a usage error, before anything is sent', async (t) => {
  const { run, seen } = await world(t);
  const create = ['job', 'create', 'report', '--image', 'r.example.com/report:7'];
  for (const [args, message] of [
    [[...create, '--env', 'MODE'], /--env takes NAME=value, not "MODE"/],
    [[...create, '--volume', 'data'], /--volume takes name:\/path/],
    [[...create, '--command', 'a', '--shell', 'b'], /either|cannot set and remove/],
    [['job', 'create', 'report'], /--image <image> is required/],
    [['job', 'update', 'report'], /Nothing to change/],
    [['job', 'update', 'report', '--suspend', '--resume'], /either|cannot set and remove/],
    [['job', 'update', 'report', '--manual', '--schedule', '* * * * *'], /either|cannot set and remove/],
    [['job', 'update', 'report', '--volume', 'data:/data', '--no-volumes'], /either|cannot set and remove/],
    [['volume', 'create', 'data'], /--size <quantity> is required/],
  ] as const) {
    t.match(await run([...args]), { code: 2, stderr: message }, args.join(' '));
  }
  t.same(seen, []);
});

t.test('--command takes a command line or one word per flag', async (t) => {
  const { run, seen } = await world(t, { [`PATCH ${jobs}/report`]: { body: job } });
  const update = ['job', 'update', 'report'];
  const lines: [string[], string[]][] = [
    [['npm run migrate'], ['npm', 'run', 'migrate']],
    [['node -e \'console.log("a b")\' "" it\\ is "5\\$"x'], ['node', '-e', 'console.log("a b")', '', 'it is', '5$x']],
    [['migrate'], ['migrate']],
    // -e is also the short form of --environment.
    [
      ['node', '-e', '1'],
      ['node', '-e', '1'],
    ],
    [
      ['sh', '-c', 'echo a | wc', ''],
      ['sh', '-c', 'echo a | wc', ''],
    ],
  ];
  for (const [typed, command] of lines) {
    await run([...update, ...typed.flatMap((word) => ['--command', word])]);
    t.same(seen.at(-1)?.body, { command });
  }
  for (const line of ['a | wc', 'a && b', 'echo $HOME', 'a > b', "it's"]) {
    t.match(await run([...update, '--command', line]), { code: 2, stderr: /outside quotes.*--shell/ }, line);
  }
  t.equal(seen.length, lines.length);
});

t.test('job create takes bindings, secrets and a file of variables', async (t) => {
  const { run, seen } = await world(t, { [`POST ${jobs}`]: { status: 201, body: job } });
  const file = join(t.testdir({ '.env': 'A="from file"\nB=2\n' }), '.env');
  const create = ['job', 'create', 'report', '--image', 'r.example.com/report:7'];
  const flags = ['--env-file', file, '--env', 'B=3', '--secret', 'TOKEN', '--bind', 'orders', '--bind', 'stock=STOCK_'];
  t.match(await run([...create, ...flags], { env: { TOKEN: 'of-shell' } }), { code: 0 });
  t.match(seen[0]?.body, {
    env: { A: 'from file', B: '3' },
    secrets: { TOKEN: 'of-shell' },
    bindings: [{ service: 'orders' }, { service: 'stock', prefix: 'STOCK_' }],
  });
});

t.test('job unbind says what is kept by the type of the service, and drops no database that it has not', async (t) => {
  const binding = { service: 'files', status: 'ready', variables: ['S3_BUCKET'] };
  const cli = await world(t, {
    [`GET ${jobs}/report/bindings/files`]: { body: { ...binding, type: 'minio', database: 'report' } },
    [`DELETE ${jobs}/report/bindings/files`]: { status: 204 },
    [`GET ${jobs}/report/bindings/cache`]: { body: { ...binding, service: 'cache', type: 'redis' } },
  });
  t.match(await cli.run(['job', 'unbind', 'report', 'files']), { code: 0, stderr: /; the bucket report is kept\n/ });
  const sent = cli.seen.length;
  t.match(await cli.run(['job', 'unbind', 'report', 'cache', '--drop-database', '--yes']), {
    code: 2,
    stderr: /The binding to cache has no database; omit --drop-database\./,
  });
  t.same(
    cli.seen.slice(sent).map(({ method }) => method),
    ['GET'],
  );
});

t.test('job bind, secret and env change what the next run gets, without a restart', async (t) => {
  const binding = { service: 'orders', status: 'ready', database: 'orders_report_prod', variables: ['DATABASE_URL'] };
  const accepted = { ...binding, status: 'pending', renewed: false, statusUrl: 'http://x/y' };
  const secret = { name: 'TOKEN', updatedAt: createdAt, hasPrevious: false };
  const cli = await world(t, {
    [`PUT ${jobs}/report/bindings/orders`]: { status: 202, body: accepted },
    [`GET ${jobs}/report/bindings/orders`]: sequence(
      { body: { ...binding, status: 'pending', message: 'The service is starting.' } },
      { body: binding },
    ),
    [`DELETE ${jobs}/report/bindings/orders`]: { status: 204 },
    [`PUT ${jobs}/report/secrets/TOKEN`]: { body: secret },
    [`PATCH ${jobs}/report/env`]: { body: { variables: { A: '1' }, pendingRestart: false } },
  });
  const next = 'the change applies from the next run\n';
  t.match(await cli.run(['job', 'bind', 'report', 'orders']), {
    code: 0,
    stdout: /Status: +ready\nDatabase: +orders_report_prod/,
    stderr: `orders: The service is starting.\n${next}`,
  });
  t.match(await cli.run(['job', 'unbind', 'report', 'orders']), {
    code: 0,
    stderr: `report is no longer bound to orders; the database orders_report_prod is kept\n${next}`,
  });
  const set = ['job', 'secret', 'set', 'report', 'TOKEN', '--value-stdin'];
  t.match(await cli.run(set, { stdin: 'hush' }), { code: 0, stderr: next });
  t.match(await cli.run(['job', 'env', 'set', 'report', 'A=1']), { code: 0, stderr: next });
  t.match(await cli.run(['job', 'bind', 'report', 'orders', '--restart']), { code: 2, stderr: /--restart/ });
});

t.test('job update --env keeps the other variables', async (t) => {
  const { run, seen } = await world(t, {
    [`PATCH ${jobs}/report`]: { body: job },
    [`PATCH ${jobs}/report/env`]: { body: { variables: {}, pendingRestart: false } },
    [`GET ${jobs}/report`]: { body: { ...job, env: { MODE: 'full', A: '1' } } },
  });
  t.match(await run(['job', 'update', 'report', '--env', 'A=1']), { code: 0, stdout: /Variables: +MODE, A/ });
  await run(['job', 'update', 'report', '--env', 'A=2', '--suspend']);
  t.same(
    seen.map(({ method, path, body }) => [method, path, body]),
    [
      ['PATCH', `${jobs}/report/env`, { A: '1' }],
      ['GET', `${jobs}/report`, undefined],
      ['PATCH', `${jobs}/report`, { suspended: true }],
      ['PATCH', `${jobs}/report/env`, { A: '2' }],
      ['GET', `${jobs}/report`, undefined],
    ],
  );
});

t.test('job update sends only the changes', async (t) => {
  const { run, seen } = await world(t, { [`PATCH ${jobs}/report`]: { body: job } });
  await run(['job', 'update', 'report', '--image', 'r.example.com/report:8', '--suspend']);
  await run(['job', 'update', 'report', '--manual', '--resume']);
  await run(['job', 'update', 'report', '--no-volumes']);
  t.same(
    seen.map(({ body }) => body),
    [{ image: 'r.example.com/report:8', suspended: true }, { schedule: null, suspended: false }, { volumes: null }],
  );
});

t.test('job run waits for the end, and ends with its exit code', async (t) => {
  const accepted = { id: run.name, status: 'pending', statusUrl: 'http://x/y' };
  const at = `GET ${jobs}/report/runs/${run.name}`;
  const ended = { ...run, startedAt: '2026-11-21T11:00:01Z', endedAt: '2026-11-21T11:00:13Z' };
  const cli = await world(t, {
    [`POST ${jobs}/report/runs`]: { status: 202, body: accepted },
    [at]: sequence(
      { body: { ...run, status: 'pending', message: 'The pod cannot start (ImagePullBackOff).' } },
      { body: { ...run, status: 'running' } },
      { body: ended },
    ),
  });
  const ran = await cli.run(['job', 'run', 'report', ...query]);
  t.equal(ran.code, 0, ran.stderr);
  t.equal(ran.stderr, `${run.name}: pending (The pod cannot start (ImagePullBackOff))\n${run.name}: running\n`);
  t.match(ran.stdout, /Status: +succeeded\nTrigger: +manual\nStarted by: +ada@svc.test\nTook: +12 s/);
  cli.routes[at] = { body: { ...ended, status: 'failed', message: 'The program exited with code 3: no such table' } };
  t.match(await cli.run(['job', 'run', 'report', ...query]), {
    code: 1,
    stdout: '',
    stderr:
      /failed: The program exited with code 3: no such table \(run_failed\)\nhint: svc job logs report --run report-00c0ffee00 --project shop --environment prod/,
  });
  t.same(JSON.parse((await cli.run(['job', 'run', 'report', '--no-wait', '-o', 'json'])).stdout), accepted);
});

t.test('job list, show and runs in every format', async (t) => {
  const plain = {
    ...job,
    name: 'clean',
    schedule: undefined,
    scheduleDescription: undefined,
    lastRun: undefined,
    status: 'ready',
  };
  const cli = await world(t, {
    [`GET ${jobs}`]: { body: { items: [plain, job] } },
    [`GET ${jobs}/report`]: { body: job },
    [`GET ${jobs}/report/runs`]: { body: { items: [run] } },
  });
  t.equal(
    (await cli.run(['job', 'list'])).stdout,
    `JOB      STATUS      SCHEDULE    DESCRIPTION   LAST RUN                IMAGE                    CREATED
clean    ready       -           -             -                       r.example.com/report:7   1 hour ago
report   scheduled   0 2 * * *   At 02:00      succeeded, 1 hour ago   r.example.com/report:7   1 hour ago
`,
  );
  t.equal((await cli.run(['job', 'list', '-o', 'name'])).stdout, 'clean\nreport\n');
  t.match(JSON.parse((await cli.run(['job', 'list', '-o', 'json'])).stdout), [{ name: 'clean' }, job]);
  t.same(JSON.parse((await cli.run(['job', 'show', 'report', '-o', 'json'])).stdout), job);
  t.match((await cli.run(['job', 'runs', 'report'])).stdout, /report-00c0ffee00 +succeeded +manual \(ada@svc.test\)/);
  t.same(JSON.parse((await cli.run(['job', 'runs', 'report', '-o', 'json'])).stdout), [run]);
});

t.test('job logs prints only the log; pod names go to stderr', async (t) => {
  const one = { run: run.name, pods: [{ name: 'a', log: 'one\ntwo\n' }] };
  const cli = await world(t, { [`GET ${jobs}/report/run-logs`]: { body: one } });
  t.match(await cli.run(['job', 'logs', 'report', '--run', run.name, '--tail', '5']), {
    code: 0,
    stdout: 'one\ntwo\n',
    stderr: '',
  });
  t.match(cli.seen[0]?.query, { run: run.name, tail: '5' });
  cli.routes[`GET ${jobs}/report/run-logs`] = { body: { ...one, pods: [...one.pods, { name: 'b' }] } };
  t.match(await cli.run(['job', 'logs', 'report']), {
    stdout: 'one\ntwo\n',
    stderr: 'attempt 1, pod a\nattempt 2, pod b\npod b has no logs yet\n',
  });
  cli.routes[`GET ${jobs}/report/run-logs`] = {
    body: { ...one, pods: [{ name: 'a', log: 'two\n', truncated: true }] },
  };
  t.match(await cli.run(['job', 'logs', 'report']), { stdout: 'two\n', stderr: /the log of pod a is truncated\n$/ });
  cli.routes[`GET ${jobs}/report/run-logs`] = { body: { ...one, pods: [] } };
  t.match(await cli.run(['job', 'logs', 'report']), { stdout: '', stderr: /has no pods/ });
});

t.test('job logs --since prints the lines of all runs', async (t) => {
  const items = [{ pod: 'p', time: '2026-11-21T12:00:00.000000000Z', line: 'hi' }];
  const cli = await world(t, { [`GET ${jobs}/report/logs`]: { body: { items } } });
  t.match(await cli.run(['job', 'logs', 'report', '--since', '7d', '--tail', '5']), { code: 0, stdout: 'hi\n' });
  t.match(cli.seen.at(-1), { query: { sinceSeconds: '604800', tail: '5' } });
  t.match(await cli.run(['job', 'logs', 'report', '--since', '7d', '--run', 'x']), { code: 2 });
});

t.test('job logs -f continues until the run has ended, across streams that are cut', async (t) => {
  const text = (...lines: object[]) => ({ body: lines.map((line) => `${JSON.stringify(line)}\n`).join('\n') });
  const line = (pod: string, second: number, content: string) => ({
    pod,
    time: `2026-11-21T12:00:0${second}.000000000Z`,
    line: content,
  });
  const cli = await world(t, {
    [`GET ${jobs}/report/run-logs`]: sequence(
      text({ run: run.name }, line('a', 1, 'one')),
      text({ run: run.name }, line('a', 1, 'one'), line('b', 2, 'two'), {
        run: run.name,
        ended: 'failed',
        message: 'No.',
      }),
    ),
  });
  t.match(await cli.run(['job', 'logs', 'report', '-f']), {
    code: 0,
    stdout: 'one\ntwo\n',
    stderr: `attempt 2, pod b\nrun ${run.name} failed: No.\n`,
  });
  t.match(cli.seen[0]?.query, { follow: 'true' });
  t.match(cli.seen[1]?.query, { follow: 'true', run: run.name, sinceTime: '2026-11-21T11:59:56.000Z' });
  t.match(await cli.run(['job', 'logs', 'report', '-f', '-o', 'yaml']), { code: 2 });
});

t.test('job delete asks, deletes all named jobs, and waits until they are gone', async (t) => {
  const missing = { status: 404, body: { code: 'not_found', message: 'There is none.' } };
  const cli = await world(t, {
    [`GET ${jobs}/report`]: sequence({ body: job }, { body: job }, missing),
    [`DELETE ${jobs}/report`]: { status: 202, body: { ...job, status: 'deleting' } },
  });
  const ran = await cli.run(['job', 'delete', 'report', '--yes']);
  t.match(ran, { code: 0, stderr: 'deleting job report\njob report is deleted\n' });
  t.match(await cli.run(['job', 'delete', 'report', 'none', '--yes']), { code: 1, stderr: /not_found/ });
  t.equal(cli.seen.filter(({ method }) => method === 'DELETE').length, 1, 'nothing is deleted when a name is wrong');
});
