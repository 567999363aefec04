import t from 'tap';
import { eventually, runningPlatform, testProject } from '../../../support/platform.ts';
import { restart } from '../../../support/replicas.ts';

const platform = await runningPlatform();
const hello = (version: string) => `localhost:5000/svc/hello:${version}`;
const failpoints = [
  'rollout.before-apply',
  'rollout.applied',
  'rollout.recorded',
  'rollout.before-end',
  'rollout.ended',
];

interface Entry {
  id: string;
  revision: number;
  image: string;
  status: string;
}

const inWorkers = (...command: string[]) =>
  platform.kubectl('-n', 'svc-system', 'exec', 'deploy/svc-workers', '--', ...command);

interface WorkerPod {
  metadata: { name: string };
  status: { containerStatuses?: { restartCount: number; ready: boolean }[] };
}

async function workerPods(): Promise<WorkerPod[]> {
  const pods = await eventually(
    () => platform.kubectl('-n', 'svc-system', 'get', 'pods', '-l', 'app=svc-workers', '-o', 'json'),
    ({ code }) => code === 0,
  );
  return (JSON.parse(pods.stdout) as { items: WorkerPod[] }).items;
}

async function restarts(): Promise<number> {
  const statuses = (await workerPods()).flatMap(({ status }) => status.containerStatuses ?? []);
  return statuses.reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** A new pod, because the kubelet delays each further restart of an old one. */
async function freshWorkers(): Promise<void> {
  const before = new Set((await workerPods()).map(({ metadata }) => metadata.name));
  await restart(platform, 'svc-workers');
  await eventually(workerPods, (pods) => {
    const [pod] = pods;
    if (!pod || pods.length > 1 || before.has(pod.metadata.name)) return false;
    return pod.status.containerStatuses?.every(({ ready }) => ready) ?? false;
  });
}

t.test('the workers are killed at every step of a rollout, which still ends, once', async (t) => {
  const { flags } = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  const history = () => platform.json<Entry[]>(['app', 'history', 'api', ...flags]);

  for (const [index, failpoint] of failpoints.entries()) {
    await t.test(failpoint, async (t) => {
      await freshWorkers();
      const before = await restarts();
      const armed = await eventually(
        () => inWorkers('node', '-e', `require('fs').writeFileSync('/failpoints/${failpoint}','')`),
        (ended) => ended.code === 0,
      );
      t.equal(armed.code, 0);
      const image = hello(index % 2 === 0 ? 'v2' : 'v1');
      const updated = await platform.svc(['app', 'update', 'api', '--image', image, ...flags]);
      t.equal(updated.code, 0, updated.stderr);
      // The record may have ended before its worker was killed.
      const after = await eventually(restarts, (count) => count > before);
      t.equal(after, before + 1, 'the workers were killed once');
      const entries = await history();
      t.equal(entries.length, index + 2);
      t.match(entries[0], { revision: index + 2, image, status: 'succeeded' });
    });
  }
});

t.test('Redis is flushed during a rollout, which still ends, once', async (t) => {
  const { flags } = await testProject(t, platform);
  await freshWorkers();
  await platform.ok(['app', 'create', 'api', '--image', hello('v1'), ...flags]);
  const accepted = await platform.json<{ id: string }>([
    'app',
    'update',
    'api',
    '--image',
    hello('v2'),
    '--no-wait',
    ...flags,
  ]);
  const flushed = await eventually(
    () =>
      platform.kubectl(
        '-n',
        'svc-system',
        'exec',
        'svc-redis-0',
        '--',
        'sh',
        '-c',
        'REDISCLI_AUTH="$(cat "$REDIS_PASSWORD_FILE")" redis-cli -p "${PORT:-6379}" flushall',
      ),
    ({ code }) => code === 0,
  );
  t.match(flushed.stdout, 'OK', flushed.stderr);
  const entries = await eventually(
    () => platform.json<Entry[]>(['app', 'history', 'api', ...flags]),
    (items) => items[0]?.status !== 'accepted' && items[0]?.status !== 'rolling_out',
  );
  t.match(entries, [
    { id: accepted.id, revision: 2, status: 'succeeded' },
    { revision: 1, status: 'succeeded' },
  ]);
});
