import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { AppRunRequest } from '../../../runtime/contracts/resources/run.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { sessionAnnotation, sessionsOf } from '../../../runtime/workloads/run-sessions.ts';
import { setUp } from './app-world.ts';

const request = (end: number): AppRunRequest => ({
  id: String(end).padStart(10, '0'),
  at: '2026-11-21T12:00:00Z',
  by: 'ada@svc.test',
  command: ['npm', 'run', 'migrate', '$(HOME)'],
});

async function world(teardown: { teardown(end: () => unknown): void }) {
  const app = await setUp(teardown);
  const ask = (...ends: number[]) => app.change({ runRequests: ends.map(request) });
  const runs = () => app.kube.all<BatchJob>(kinds.BatchJob);
  const end = async (name: string, type: 'Complete' | 'Failed') => {
    const run = runs().find(({ metadata }) => metadata.name === name);
    const at = app.clock.now().toISOString();
    const conditions = [{ type, status: 'True', lastTransitionTime: at }];
    if (run) await app.kube.replaceStatus<BatchJob>({ ...run, status: { startTime: at, conditions } });
  };
  return { ...app, ask, runs, end };
}

t.test('a requested run is created once, with the release and the command, and is reported', async (t) => {
  const { create, pass, release, ask, app, runs, end } = await world(t);
  await create('api', { memory: '256Mi' });
  await pass();
  await ask(1);
  await pass();
  t.same(runs(), [], 'it waits for a release');
  t.equal((await app()).spec.runRequests?.length, 1);
  await release(1);
  await pass();
  await pass();
  t.match(runs(), [
    {
      metadata: {
        name: 'api-0000000001',
        annotations: { 'platform.svc/requested-by': 'ada@svc.test' },
        ownerReferences: [{ kind: 'App', name: 'api' }],
      },
      spec: {
        backoffLimit: 0,
        template: {
          metadata: { labels: { 'platform.svc/kind': 'App', 'platform.svc/role': 'run' } },
          spec: {
            restartPolicy: 'Never',
            automountServiceAccountToken: false,
            containers: [
              {
                name: 'app',
                image: 'registry.test/api:1',
                command: ['npm', 'run', 'migrate', '$$(HOME)'],
                resources: { limits: { memory: '256Mi' } },
              },
            ],
          },
        },
      },
    },
  ]);
  const reported = { name: 'api-0000000001', trigger: 'manual', by: 'ada@svc.test', command: request(1).command };
  t.match(await app(), { spec: { runRequests: undefined }, status: { runs: [{ ...reported, state: 'pending' }] } });
  await end('api-0000000001', 'Complete');
  await pass();
  t.match((await app()).status?.runs, [{ ...reported, state: 'succeeded' }]);
  t.equal(runs().length, 1);
});

t.test('the pod of a session waits, shows the program of the session, and is deleted when it ends', async (t) => {
  const { create, pass, release, change, app, runs } = await world(t);
  await create();
  await pass();
  await release(1);
  await change({ runRequests: [{ ...request(1), session: true }, request(2)] });
  await pass();
  t.match(
    runs().find(({ metadata }) => metadata.name === 'api-0000000001'),
    {
      spec: {
        activeDeadlineSeconds: 8 * 3_600,
        template: {
          spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'app', command: ['sleep', '28800'] }] },
        },
      },
    },
  );
  t.same(
    (await app()).status?.runs?.map(({ name, command }) => [name, command]),
    [
      ['api-0000000001', request(1).command.slice(0, 1)],
      ['api-0000000002', request(2).command],
    ],
  );
  await change({ runStops: ['0000000001', '0000000003'] });
  await pass();
  t.same(
    runs().map(({ metadata }) => metadata.name),
    ['api-0000000002'],
  );
  t.notOk((await app()).spec.runStops);
  await pass();
  t.match((await app()).status?.runs, [{ name: 'api-0000000002' }]);
});

t.test('the run of a session is deleted when no process renews it, whether it has started or not', async (t) => {
  const { create, pass, release, change, kube, clock, app, runs } = await world(t);
  const minute = 60_000;
  const renew = async (end: number) => {
    const annotations = { [sessionAnnotation(request(end).id)]: clock.now().toISOString() };
    const api = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' };
    await kube.mergePatch(api, { metadata: { annotations: { other: 'x', ...annotations } } });
  };
  const names = () => runs().map(({ metadata }) => metadata.name);
  const session = (end: number) => ({ ...request(end), session: true });
  await create();
  await pass();
  await renew(9);
  await change({ runRequests: [session(9)] });
  await pass();
  t.match((await app()).spec.runRequests, [{ id: '0000000009' }], 'it waits for a release');
  await clock.advance(5 * minute);
  await release(1);
  await change({ runRequests: [session(9), session(1), session(2), request(3)] });
  await renew(1);
  const { outcome } = await pass();
  t.same(names(), ['api-0000000001', 'api-0000000002', 'api-0000000003'], 'the first request has no session any more');
  t.match(outcome, { requeueAfterMs: Number });
  t.ok(Number(outcome?.requeueAfterMs) <= 5 * minute);
  await clock.advance(4 * minute);
  await renew(1);
  await clock.advance(4 * minute);
  await pass();
  t.equal(names().length, 3);
  await clock.advance(minute);
  await pass();
  await pass();
  t.same(names(), ['api-0000000002', 'api-0000000003'], 'others have no session, or one of an older version');
  t.same((await app()).metadata.annotations?.['other'], 'x');
  t.same(sessionsOf(await app()), [], 'the session is forgotten');
  t.same((await app()).status?.runs?.map(({ name }) => name).toSorted(), names());
});

t.test('a run that is stopped before it starts is not created', async (t) => {
  const { create, pass, release, change, app, runs } = await world(t);
  await create();
  await pass();
  await change({ runRequests: [{ ...request(1), session: true }, request(2)], runStops: ['0000000001'] });
  await pass();
  t.match((await app()).spec, { runRequests: [{ id: '0000000002' }], runStops: undefined }, 'the other one waits');
  await release(1);
  await pass();
  t.same(
    runs().map(({ metadata }) => metadata.name),
    ['api-0000000002'],
  );
});

t.test('a kill at any write creates each run exactly once', async (t) => {
  const cut = async (at: number) => {
    const { create, pass, release, ask, kube, app, runs } = await world(t);
    await create();
    await pass();
    await release(1);
    await pass();
    await ask(1);
    let writes = 0;
    kube.intercept = ({ verb }) => {
      if (verb !== 'get' && verb !== 'list' && writes++ >= at) throw new Error('the process has ended');
    };
    const ended = await pass().then(
      () => true,
      () => false,
    );
    kube.intercept = undefined;
    await pass();
    t.equal(runs().length, 1, `after write ${at}`);
    t.notOk((await app()).spec.runRequests);
    t.match((await app()).status?.runs, [{ name: 'api-0000000001' }]);
    return ended;
  };
  let at = 0;
  while (!(await cut(at))) at += 1;
  t.ok(at >= 2, `${at} writes to be killed at`);
});

t.test('ten ended runs are kept, for a day', async (t) => {
  const { create, pass, release, ask, app, runs, end, clock } = await world(t);
  await create();
  await pass();
  await release(1);
  const ends = Array.from({ length: 12 }, (_, index) => index + 1);
  await ask(...ends);
  await pass();
  for (const { metadata } of runs()) await end(metadata.name, 'Failed');
  await pass();
  t.equal(runs().length, 12, 'a client that waits for the end can still see it');
  await clock.advance(61_000);
  await pass();
  t.equal(runs().length, 10);
  await pass();
  t.equal((await app()).status?.runs?.length, 10);
  await clock.advance(24 * 3_600_000);
  await pass();
  await pass();
  t.same(runs(), []);
  t.notOk((await app()).status?.runs, 'an app without runs lists none');
});

t.test('the runs of a deleted app are deleted before it', async (t) => {
  const { create, pass, release, ask, kube, runs, read } = await world(t);
  await create();
  await pass();
  await release(1);
  await ask(1);
  await pass();
  t.equal(runs().length, 1);
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' });
  for (let round = 0; round < 10 && (await read()); round++) await pass().catch(() => undefined);
  t.notOk(await read());
  t.same(runs(), []);
});

t.test('the command of a release runs once, and its pods start after it has succeeded', async (t) => {
  const { create, pass, change, kube, app, runs, end, observe, ready } = await world(t);
  await create();
  await pass();
  const release = (generation: number, command?: string[]) =>
    change({
      release: {
        generation,
        deploymentId: newId(),
        image: `registry.test/api:${generation}`,
        // The rollout step replaces the release as a whole.
        command: command ?? null,
      },
    });
  const imageServed = () =>
    kube.all<KubeObject & { spec: { template: { spec: { containers: { image: string }[] } } } }>(kinds.Deployment)[0]
      ?.spec.template.spec.containers[0]?.image;
  await release(1, ['migrate', '--all']);
  await pass();
  t.match(runs(), [
    {
      metadata: { name: 'api-release-1' },
      spec: { template: { spec: { containers: [{ image: 'registry.test/api:1', command: ['migrate', '--all'] }] } } },
    },
  ]);
  t.equal(imageServed(), undefined, 'no pod starts before it');
  t.match((await app()).status, {
    phase: 'deploying',
    release: { phase: 'progressing' },
    runs: [{ name: 'api-release-1', trigger: 'release', state: 'pending' }],
  });
  await end('api-release-1', 'Complete');
  await pass();
  t.equal(imageServed(), 'registry.test/api:1');
  await observe(ready);
  await pass();
  t.match((await app()).status?.release, { generation: 1, phase: 'available', commandSucceeded: true });

  await release(2, ['migrate']);
  await pass();
  await end('api-release-2', 'Failed');
  await pass();
  t.equal(imageServed(), 'registry.test/api:1', 'the pods of the previous release keep serving');
  t.match((await app()).status, {
    phase: 'running',
    release: { generation: 2, phase: 'failed', message: /^The release command failed/ },
  });
  for (const { metadata } of runs()) {
    await kube.delete({ apiVersion: 'batch/v1', kind: 'Job', namespace: 'shop-prod', name: metadata.name });
  }
  await pass();
  t.match((await app()).status?.release, { generation: 2, phase: 'failed' });
  t.same(runs(), [], 'a command whose outcome is known is not run again');

  await release(3);
  await pass();
  t.equal(imageServed(), 'registry.test/api:3', 'a rollback has no command');
  t.same(runs(), []);
});

t.test('the command of an older release is stopped before the next one runs', async (t) => {
  const { create, pass, change, runs } = await world(t);
  await create();
  await pass();
  for (const generation of [1, 2]) {
    const release = {
      generation,
      deploymentId: newId(),
      image: `registry.test/api:${generation}`,
      command: ['migrate'],
    };
    await change({ release });
    await pass().catch(() => undefined);
    await pass();
  }
  t.same(
    runs().map(({ metadata }) => metadata.name),
    ['api-release-2'],
  );
  await change({ release: { generation: 3, deploymentId: newId(), image: 'registry.test/api:1', command: null } });
  await pass();
  await pass();
  t.same(runs(), [], 'also for a release without one');
});

t.test('a release command whose pod cannot start fails the release after 30 seconds', async (t) => {
  const { create, pass, change, kube, clock, app, runs } = await world(t);
  await create();
  await pass();
  await change({
    release: { generation: 1, deploymentId: newId(), image: 'registry.test/api:1', command: ['migrate'] },
  });
  await pass();
  const [run] = runs();
  if (run) kube.seed({ ...run, metadata: { ...run.metadata, creationTimestamp: clock.now().toISOString() } });
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'api-release-1-x',
      namespace: 'shop-prod',
      labels: { ...run?.metadata.labels, 'batch.kubernetes.io/job-name': 'api-release-1' },
      annotations: { 'platform.svc/release': '1' },
    },
    spec: { containers: [{ name: 'app' }] },
    status: {
      phase: 'Pending',
      containerStatuses: [
        {
          name: 'app',
          ready: false,
          restartCount: 0,
          state: { waiting: { reason: 'ErrImagePull', message: 'no such image' } },
        },
      ],
    },
  });
  await pass();
  t.match((await app()).status?.release, { phase: 'progressing' });
  await clock.advance(31_000);
  await pass();
  t.match((await app()).status?.release, { phase: 'failed', message: /did not start: .*ErrImagePull.*no such image/ });
});

t.test(
  'twenty runs are active at most, and further requests wait; the status shows the beginning of a command',
  async (t) => {
    const { create, pass, release, change, app, runs, end } = await world(t);
    await create();
    await pass();
    await release(1);
    const long = (id: number) => ({ ...request(id), command: ['sh', '-c', 'x'.repeat(4_000)] });
    await change({ runRequests: Array.from({ length: 20 }, (_, index) => long(index + 1)) });
    await pass();
    t.notOk((await app()).spec.runRequests);
    await change({ runRequests: [long(21)] });
    await pass();
    t.equal(runs().length, 20);
    t.match((await app()).spec.runRequests, [{ id: '0000000021' }]);
    t.ok(JSON.stringify((await app()).status?.runs).length < 20_000);
    await end('api-0000000001', 'Complete');
    await pass();
    t.equal(runs().length, 21);
    t.notOk((await app()).spec.runRequests);
  },
);
