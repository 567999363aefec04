import t from 'tap';
import { codeFile } from '../support/code-file.ts';
import { eventually, runningPlatform, testProject, uniqueName } from '../support/platform.ts';

const platform = await runningPlatform();
const code = `
export async function handler(event, context) {
  console.log('ran by', process.env.SVC_TRIGGER, process.env.SVC_MODE, JSON.stringify({ event, context: context.trigger }));
}`;

interface Run {
  name: string;
  status: string;
  trigger: string;
  createdAt: string;
}

interface FunctionView {
  status: string;
  message?: string;
  url?: string;
  nextRuns?: string[];
  lastRun?: Run;
}

const message = (log: string) => (JSON.parse(log.split('\n')[0] ?? '') as { msg: string }).msg;

t.test('a cron function runs on schedule, and once on demand', { timeout: 300_000 }, async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('tick');
  const file = codeFile(t, 'tick.js', code);
  const create = ['function', 'create', name, '--code-file', file, '--trigger', 'cron'];
  const requestedAt = Date.now();
  await platform.ok([...create, '--schedule', '* * * * *', ...flags]);
  const show = () => platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const logs = (run: string) => platform.ok(['function', 'logs', name, '--run', run, ...flags]);
  const created = await show();

  await t.test('it has its next times, and no object that a request could reach', async (t) => {
    t.equal(created.url, undefined);
    const [first = '', ...more] = created.nextRuns ?? [];
    t.equal(more.length, 4);
    t.equal(Date.parse(more[0] ?? '') - Date.parse(first), 60_000);
    const objects = await platform.kubectl('-n', namespace, 'get', 'deploy,svc,cronjob', '-o', 'name');
    t.equal(objects.stdout.trim(), `cronjob.batch/${name}`);
    const hosts = await platform.kubectl('get', 'hostnames', '-o', 'name');
    t.notMatch(hosts.stdout, `fn-${name}--`);
    const answer = await platform.request(`http://fn-${name}--local.${platform.info.appsDomain}`);
    t.equal(answer.status, 404);
  });

  await t.test('a test run is a separate Job, without retries, removed ten minutes after its end', async (t) => {
    const ended = await platform.svc(['function', 'test', name, ...flags]);
    t.equal(ended.code, 0, ended.stderr);
    t.match(ended.stdout, /Trigger: +test/);
    const [run = ''] = new RegExp(`${name}-test-[0-9a-f]{10}`).exec(ended.stdout) ?? [];
    const job = await eventually(
      async () => {
        const object = await platform.kubectl('-n', namespace, 'get', 'jobs.batch', run, '-o', 'json');
        return JSON.parse(object.stdout) as { spec: { ttlSecondsAfterFinished?: number } };
      },
      ({ spec }) => spec.ttlSecondsAfterFinished !== undefined,
    );
    t.match(job, {
      metadata: { labels: { app: name, 'platform.svc/role': 'test' } },
      spec: { backoffLimit: 0, ttlSecondsAfterFinished: 600 },
    });
    t.match(message(await logs(run)), /^ran by test batch .*"schedule":"\* \* \* \* \*".*"context":"test"/);
  });

  await t.test('a scheduled run starts', async (t) => {
    const ran = await eventually(
      () => platform.json<Run[]>(['function', 'runs', name, ...flags]),
      (runs) => runs.some(({ trigger, status }) => trigger === 'cron' && status === 'succeeded'),
    );
    const run = ran.find(({ trigger, status }) => trigger === 'cron' && status === 'succeeded');
    const printed = message(await logs(run?.name ?? ''));
    t.match(printed, /^ran by cron batch/);
    const [, time = ''] = /"time":"([^"]+)"/.exec(printed) ?? [];
    t.match(time, /:00\.000Z$/, 'the scheduled time, not the time when the pod started');
    // The minute may have passed while `create` waited.
    t.ok(Date.parse(time) > requestedAt, time);
  });

  await t.test('deleting it leaves nothing', async (t) => {
    await platform.ok(['function', 'delete', name, '--yes', ...flags]);
    const remaining = await eventually(
      () =>
        platform.kubectl(
          '-n',
          namespace,
          'get',
          '-o',
          'name',
          'functions.platform.svc,workloadnames,jobs.batch,cronjobs,pods,configmaps',
        ),
      ({ stdout }) => !/pod\/|job\.batch|configmap\/function/.test(stdout),
    );
    t.equal(remaining.stdout.replace('configmap/kube-root-ca.crt\n', ''), '');
  });
});

t.test('a failed test run reports the reason, and leaves the state of the schedule', async (t) => {
  const { namespace, flags } = await testProject(t, platform);
  const name = uniqueName('broken');
  const file = codeFile(t, 'broken.js', 'export const handler = () => { throw new Error("no such table"); };');
  const create = ['function', 'create', name, '--code-file', file, '--trigger', 'cron'];
  await platform.ok([...create, '--schedule', '0 0 1 1 *', '--time-zone', 'Europe/Berlin', ...flags]);
  const show = () => platform.json<FunctionView>(['function', 'show', name, ...flags]);
  const ended = await platform.svc(['function', 'test', name, ...flags]);
  t.equal(ended.code, 1);
  t.match(ended.stderr, /the handler failed: no such table.*run_failed/s);
  const tested = await eventually(show, ({ lastRun }) => lastRun?.status === 'failed');
  t.match(tested, { status: 'scheduled', lastRun: { message: /the handler failed: no such table/ } });
  t.notOk(tested.message);
  const log = await platform.ok(['function', 'logs', name, ...flags]);
  t.match(log, /Error: no such table.*handler\.js/);
  const pods = await platform.kubectl('-n', namespace, 'get', 'pods', '-l', `app=${name}`, '-o', 'name');
  t.equal(pods.stdout.trim().split('\n').length, 1, 'there is no second attempt');

  const patch = JSON.stringify({ spec: { code: 'export const handler = () => undefined;' } });
  await platform.kubectl('-n', namespace, 'patch', 'sfn', name, '--type=merge', '-p', patch);
  await platform.ok(['function', 'test', name, ...flags]);
  await eventually(show, ({ status, lastRun }) => status === 'scheduled' && lastRun?.status === 'succeeded');

  const serving = JSON.stringify({ spec: { trigger: 'http', schedule: null } });
  await platform.kubectl('-n', namespace, 'patch', 'sfn', name, '--type=merge', '-p', serving);
  const { url = '' } = await eventually(show, (view) => view.url !== undefined);
  const answer = await eventually(
    () => platform.request(url),
    ({ status }) => status !== 404,
  );
  t.equal(answer.status, 204);
  const remaining = await platform.kubectl('-n', namespace, 'get', 'cronjobs,jobs.batch', '-o', 'name');
  t.equal(remaining.stdout, '', 'an HTTP function has no schedule and no runs');
});
