import t from 'tap';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
/** A program for `job create`, one word per flag. */
const program = (code: string) => ['node', '-e', code].flatMap((word) => [`--command=${word}`]);

interface Run {
  name: string;
  status: string;
  trigger: string;
  message?: string;
}

interface Job {
  status: string;
  nextRunAt?: string;
  lastRun?: Run;
}

t.test('a job runs on demand, keeps its runs and their logs, and leaves nothing when deleted', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('report');
  const code = 'console.log("hello " + process.env.WHO); process.exit(process.env.WHO === "nobody" ? 3 : 0)';
  await platform.ok(['job', 'create', name, '--image', image, ...program(code), '--env', 'WHO=ada', ...flags]);
  const run = () => platform.svc(['job', 'run', name, ...flags]);

  await t.test('a run that succeeds', async (t) => {
    const ended = await run();
    t.equal(ended.code, 0, ended.stderr);
    t.match(ended.stdout, /Status: +succeeded/);
    await eventually(
      () => platform.ok(['job', 'logs', name, ...flags]),
      (printed) => printed === 'hello ada',
    );
    const batch = await platform.kubectl('-n', namespace, 'get', 'jobs.batch', '-o', 'json');
    t.match(JSON.parse(batch.stdout), {
      items: [
        {
          metadata: {
            labels: { app: name, 'platform.svc/kind': 'Job', 'platform.svc/role': 'run' },
            ownerReferences: [{ apiVersion: 'platform.svc/v1', kind: 'Job', name }],
          },
        },
      ],
    });
  });

  await t.test('its log can be followed from before it begins to its end', async (t) => {
    const accepted = await platform.ok(['job', 'run', name, '--no-wait', '-o', 'name', ...flags]);
    const followed = await platform.svc(['job', 'logs', name, '-f', '--run', accepted, ...flags]);
    t.match(followed, { code: 0, stdout: 'hello ada\n', stderr: `run ${accepted} succeeded\n` });
  });

  await t.test('a run that fails ends the command with its reason', async (t) => {
    await platform.ok(['job', 'update', name, '--env', 'WHO=nobody', ...flags]);
    const ended = await run();
    t.equal(ended.code, 1);
    t.match(ended.stderr, /The program exited with code 3: hello nobody.*run_failed/);
    const runs = await platform.json<Run[]>(['job', 'runs', name, ...flags]);
    t.match(runs, [
      { status: 'failed', trigger: 'manual' },
      { status: 'succeeded', trigger: 'manual' },
      { status: 'succeeded', trigger: 'manual' },
    ]);
  });

  await t.test('an app or a function cannot take its name', async (t) => {
    const nameConflict = await platform.svc(['app', 'create', name, '--image', image, ...flags]);
    t.equal(nameConflict.code, 1);
    t.match(nameConflict.stderr, /already used by a job in this environment.*name_taken/);
  });

  await t.test('deleting it leaves nothing', async (t) => {
    await platform.ok(['job', 'delete', name, '--yes', ...flags]);
    const own = await platform.kubectl(
      '-n',
      namespace,
      'get',
      '-o',
      'name',
      'jobs.platform.svc,workloadnames,cronjobs',
    );
    t.match(own, { code: 0, stdout: '' });
    await eventually(
      () => platform.kubectl('-n', namespace, 'get', '-o', 'name', 'jobs.batch,pods'),
      ({ code, stdout }) => code === 0 && stdout === '',
    );
  });
});

t.test('a job with a schedule runs by itself', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const create = ['job', 'create', 'tick', '--image', image, ...program('console.log("tick")')];
  await platform.ok([...create, '--schedule', '* * * * *', ...flags]);
  const show = () => platform.json<Job>(['job', 'show', 'tick', ...flags]);
  const ran = await eventually(show, ({ lastRun }) => lastRun?.status === 'succeeded');
  t.match(ran, { lastRun: { trigger: 'schedule' }, nextRunAt: String });
  // By its name, because another run may have begun.
  await eventually(
    () => platform.ok(['job', 'logs', 'tick', '--run', ran.lastRun?.name ?? '', ...flags]),
    (printed) => printed === 'tick',
  );
  const pods = await platform.kubectl(
    '-n',
    namespace,
    'get',
    'pods',
    '-l',
    'app=tick,platform.svc/role=cron',
    '-o',
    'name',
  );
  t.match(pods.stdout, /^pod\/tick-/);

  await platform.ok(['job', 'update', 'tick', '--suspend', ...flags]);
  const suspended = await eventually(show, ({ status }) => status === 'suspended');
  t.notOk(suspended.nextRunAt);
  const cron = await platform.kubectl('-n', namespace, 'get', 'cronjob', 'tick', '-o', 'jsonpath={.spec.suspend}');
  t.equal(cron.stdout, 'true');
});

t.test('a program that is killed for memory is recorded, with its limit and a suggested one', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const hungry = 'const all = []; for (;;) all.push(Buffer.alloc(8_000_000, 1))';
  await platform.ok(['job', 'create', 'hungry', '--image', image, ...program(hungry), '--memory', '64Mi', ...flags]);
  const ended = await platform.svc(['job', 'run', 'hungry', ...flags]);
  t.equal(ended.code, 1);
  t.match(ended.stderr, /The program exceeded its memory limit/);
  const condition = 'jsonpath={.status.conditions[?(@.type=="OutOfMemory")].message}';
  const recorded = await eventually(
    () => platform.kubectl('-n', namespace, 'get', 'sjob', 'hungry', '-o', condition),
    ({ stdout }) => stdout !== '',
  );
  t.match(recorded.stdout, /container "job" .* its limit of 64Mi; try 128Mi/);
  t.match(await platform.ok(['job', 'show', 'hungry', ...flags]), /Out of memory: .* its limit of 64Mi; try 128Mi\./);
  t.match(await platform.ok(['job', 'list', ...flags]), /its limit of 64Mi; try 128Mi\.$/);
  const readEvents = async () => {
    const events = await platform.kubectl('-n', namespace, 'get', 'events', '-o', 'json');
    const { items } = JSON.parse(events.stdout) as {
      items: { reason: string; count: number; involvedObject: { kind: string } }[];
    };
    return items.filter(({ reason, involvedObject }) => reason === 'OOMKilled' && involvedObject.kind === 'Job');
  };
  t.match(await eventually(readEvents, (items) => items.length > 0), [{ count: 1 }]);
});
