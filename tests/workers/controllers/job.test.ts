import t from 'tap';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { podLabels, workloadLabels } from '../../../runtime/domain/labels.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { id, jobWorld, namespace, ref, workload } from './job-world.ts';

const namesOf = (objects: Stored<KubeObject>[]) => objects.map(({ metadata }) => metadata.name).sort();

t.test('a new job claims its name, is recorded, and waits for a run', async (t) => {
  const world = jobWorld();
  await world.reconcile();
  t.match(world.kube.all(kinds.WorkloadName), [
    { metadata: { name: 'report' }, spec: { kind: 'Job', workloadId: id } },
  ]);
  t.match(world.projected, [{ id, kind: 'Job', namespace, name: 'report', project: 'shop', gated: false }]);
  t.match(world.job().status, {
    phase: 'ready',
    active: 0,
    runs: [],
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });
  t.same(world.kube.all(kinds.CronJob), []);
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a pass without changes writes nothing');
});

t.test('a request becomes one run and is removed; the run is reported until it ends', async (t) => {
  const world = jobWorld();
  await world.ask(1, 2);
  await world.reconcile();
  t.same(namesOf(world.runs()), ['report-0000000001', 'report-0000000002']);
  t.match(world.runs()[0]?.metadata.ownerReferences, [
    { apiVersion: 'platform.svc/v1', kind: 'Job', name: 'report', controller: false },
  ]);
  t.notOk(world.job().spec.runRequests);
  t.match(world.job().status, {
    phase: 'running',
    active: 2,
    runs: [
      { name: 'report-0000000001', trigger: 'manual', state: 'pending', by: 'ada@svc.test' },
      { name: 'report-0000000002' },
    ],
  });
  await world.settle('report-0000000001', { active: 1, ready: 1, startTime: '2026-11-21T12:00:01Z' });
  await world.reconcile();
  t.match(world.job().status?.runs?.[0], { state: 'running', startedAt: '2026-11-21T12:00:01Z' });
  await world.end('report-0000000001', 'Complete', world.clock.now());
  await world.end('report-0000000002', 'Complete', world.clock.now());
  await world.reconcile();
  t.match(world.job().status, { phase: 'ready', active: 0, runs: [{ state: 'succeeded' }, { state: 'succeeded' }] });
  await world.reconcile();
  t.equal(world.runs().length, 2, 'a run is not created again');
});

t.test('of the runs of one second, the status has the later one first', async (t) => {
  const world = jobWorld();
  const reported = () => (world.job().status?.runs ?? []).map(({ name }) => name.at(-1));
  for (const run of [1, 2, 3]) {
    await world.ask(run);
    await world.reconcile();
  }
  t.equal(new Set(world.runs().map(({ metadata }) => metadata.creationTimestamp)).size, 1);
  t.same(reported(), ['3', '2', '1']);
  await world.reconcile();
  t.same(reported(), ['3', '2', '1'], 'and keeps the order');
});

t.test('a kill at any write creates each run exactly once', async (t) => {
  const cut = async (at: number) => {
    const world = jobWorld();
    await world.ask(1);
    const writesBefore = world.writes();
    world.kube.intercept = ({ verb }) => {
      if (verb !== 'get' && verb !== 'list' && world.writes() - writesBefore > at)
        throw new Error('the process has ended');
    };
    const ended = await world.reconcile().then(
      () => true,
      () => false,
    );
    world.kube.intercept = undefined;
    // The job changes before the next pass: the run keeps the template that was requested, which is immutable.
    await world.kube.mergePatch(ref, { spec: { image: 'registry.test/report:8' } });
    const runs = world.runs();
    await world.reconcile();
    t.same(namesOf(world.runs()), ['report-0000000001'], `after write ${at}, with ${runs.length} created before`);
    if (runs.length > 0) t.same(world.runs()[0]?.spec, runs[0]?.spec, 'as it was created');
    t.notOk(world.job().spec.runRequests);
    return ended;
  };
  let at = 0;
  while (!(await cut(at))) at += 1;
  t.ok(at >= 4, `${at} writes to be killed at`);
});

t.test('a lost answer to the creation creates no second run', async (t) => {
  const world = jobWorld();
  await world.ask(1);
  const create = world.kube.create.bind(world.kube);
  world.kube.create = async (object) => {
    const created = await create(object);
    if (object.kind === 'Job') throw new KubeError(504, 'Timeout', 'no answer');
    return created;
  };
  await t.rejects(world.reconcile());
  world.kube.create = create;
  await world.reconcile();
  t.same(namesOf(world.runs()), ['report-0000000001']);
});

t.test('a schedule is kept, and deleted when the job no longer has one', async (t) => {
  const world = jobWorld({ schedule: '0 2 * * *' });
  await world.reconcile();
  t.match(world.kube.all(kinds.CronJob), [
    {
      metadata: { name: 'report', ownerReferences: [{ kind: 'Job' }] },
      spec: { schedule: '0 2 * * *', suspend: false },
    },
  ]);
  t.equal(world.job().status?.phase, 'scheduled');
  const [cron] = world.kube.all(kinds.CronJob);
  world.kube.seed({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: 'report-29384750',
      namespace,
      labels: podLabels(workload, 'cron'),
      ownerReferences: [
        { apiVersion: 'batch/v1', kind: 'CronJob', name: 'report', uid: cron?.metadata.uid ?? '', controller: true },
      ],
    },
    spec: {},
  });
  await world.reconcile();
  t.match(world.job().status?.runs, [{ name: 'report-29384750', trigger: 'schedule', state: 'pending' }]);
  await world.end('report-29384750', 'Complete', world.clock.now());
  await world.kube.mergePatch(ref, { spec: { suspended: true } });
  await world.reconcile();
  t.equal(world.job().status?.phase, 'suspended');
  t.match(world.kube.all(kinds.CronJob), [{ spec: { suspend: true } }]);
  await world.kube.mergePatch(ref, { spec: { schedule: null } });
  await world.reconcile();
  t.same(world.kube.all(kinds.CronJob), []);
  t.equal(world.job().status?.phase, 'ready');
});

t.test('a limited number of ended runs is kept, for a limited time', async (t) => {
  const world = jobWorld({ historyLimit: 2, retentionSeconds: 600 });
  await world.ask(1, 2, 3, 4, 5, 6);
  await world.reconcile();
  for (const end of [1, 2, 3, 4]) {
    await world.clock.advance(1_000);
    await world.end(`report-000000000${end}`, 'Complete', world.clock.now());
  }
  await world.end('report-0000000005', 'Failed', world.clock.now(), { reason: 'BackoffLimitExceeded' });
  await world.clock.advance(50_000);
  t.same(await world.reconcile(), { requeueAfterMs: 7_000 });
  t.equal(world.runs().length, 6, 'a client that waits for the end can still see it');
  await world.clock.advance(9_000);
  const answer = await world.reconcile();
  t.same(
    namesOf(world.runs()),
    ['report-0000000003', 'report-0000000004', 'report-0000000005', 'report-0000000006'],
    'the newest two that succeeded, the failed one, and the one in progress',
  );
  t.same(answer, { requeueAfterMs: 540_000 });
  await world.clock.advance(600_000);
  await world.reconcile();
  t.same(namesOf(world.runs()), ['report-0000000006']);
  t.match(world.job().status?.runs, [{ name: 'report-0000000006' }]);
});

t.test('a run is always visible, in the requests or in the status', async (t) => {
  const world = jobWorld();
  await world.ask(1);
  const results: boolean[] = [];
  world.kube.intercept = () => {
    const { spec, status } = world.job();
    results.push(
      spec.runRequests !== undefined || (status?.runs ?? []).some(({ name }) => name === 'report-0000000001'),
    );
  };
  await world.reconcile();
  await world.reconcile();
  world.kube.intercept = undefined;
  t.notOk(results.includes(false));
  t.notOk(world.job().spec.runRequests);
});

t.test('a run that fails or does not start reports the reason', async (t) => {
  const world = jobWorld();
  await world.ask(1, 2, 3);
  await world.reconcile();
  const [first, second, third] = ['report-0000000001', 'report-0000000002', 'report-0000000003'] as const;
  const message = () => Object.fromEntries((world.job().status?.runs ?? []).map((run) => [run.name, run.message]));
  world.seedPod(first, {
    phase: 'Failed',
    containerStatuses: [
      {
        name: 'job',
        ready: false,
        restartCount: 0,
        state: {
          terminated: {
            exitCode: 3,
            reason: 'Error',
            message: 'begin\nno such table\n    at query (a.js:1)\n\nNode.js v24.1.0\n',
          },
        },
      },
    ],
  });
  world.seedPod(second, {
    phase: 'Pending',
    containerStatuses: [
      {
        name: 'job',
        ready: false,
        restartCount: 0,
        state: { waiting: { reason: 'ImagePullBackOff', message: 'not found' } },
      },
    ],
  });
  await world.reconcile();
  t.match(
    world.job().status?.runs?.find(({ name }) => name === first),
    { state: 'running', message: undefined },
    'its pod has ended, and the Job will report it shortly',
  );
  await world.end(first, 'Failed', world.clock.now(), { reason: 'BackoffLimitExceeded', message: 'too often' });
  await world.end(third, 'Failed', world.clock.now(), { reason: 'DeadlineExceeded', message: 'too long' });
  await world.reconcile();
  t.same(message(), {
    [first]: 'The program exited with code 3: no such table',
    [second]: 'The pod cannot start (ImagePullBackOff): not found',
    [third]: 'The run exceeded its timeout.',
  });
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: `${first}-x1` });
  await world.reconcile();
  t.equal(
    message()[first],
    'The program exited with code 3: no such table',
    'the recorded result stays without the pod',
  );
});

t.test('a run whose container has ended stays running until its pod has ended', async (t) => {
  const world = jobWorld();
  await world.ask(1);
  await world.reconcile();
  t.match(world.job().status?.runs, [{ state: 'pending' }]);
  const container = { name: 'job', ready: false, restartCount: 0 };
  // The kubelet reports that a pod is no longer ready before it reports the phase in which the pod has ended.
  world.seedPod('report-0000000001', {
    phase: 'Running',
    conditions: [{ type: 'Ready', status: 'False' }],
    containerStatuses: [{ ...container, state: { terminated: { exitCode: 0 } } }],
  });
  await world.reconcile();
  t.match(world.job().status?.runs, [{ state: 'running' }]);
});

t.test('a run whose program is not in the image names it, without the messages of the container runtime', async (t) => {
  const world = jobWorld();
  await world.ask(1);
  await world.reconcile();
  const run = 'report-0000000001';
  const message =
    'failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: error during container init: exec: "migrate": executable file not found in $PATH: unknown';
  const terminated = { exitCode: 128, reason: 'StartError', message };
  const status = { name: 'job', ready: false, restartCount: 0, state: { terminated } };
  world.seedPod(run, { phase: 'Failed', containerStatuses: [status] });
  await world.end(run, 'Failed', world.clock.now(), { reason: 'BackoffLimitExceeded', message: 'too often' });
  await world.reconcile();
  t.match(world.job().status?.runs, [{ message: 'Cannot start "migrate": executable file not found in $PATH' }]);
});

t.test('a name that another kind holds stops the pass before any object is created, and is reported', async (t) => {
  const world = jobWorld({ schedule: '0 2 * * *' });
  const other = { kind: 'App' as const, name: 'report', id: '019a0000-0000-7000-8000-0000000000f1' };
  world.kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'WorkloadName',
    metadata: { name: 'report', namespace, labels: workloadLabels(other) },
    spec: { kind: 'App', workloadId: other.id },
  });
  await world.ask(1);
  await t.rejects(world.reconcile(), { code: 'name_taken' });
  t.match(world.job().status, {
    phase: 'failed',
    message: /already used by an app in this environment/,
    conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
  });
  t.same([world.runs(), world.kube.all(kinds.CronJob)], [[], []]);
  t.equal(world.warnings.length, 1);
});

t.test('a foreign CronJob of the same name is reported and not changed, and later steps are skipped', async (t) => {
  const world = jobWorld({ schedule: '0 2 * * *' });
  const foreign = { schedule: '* * * * *' };
  world.kube.seed({ apiVersion: 'batch/v1', kind: 'CronJob', metadata: { name: 'report', namespace }, spec: foreign });
  await world.ask(1);
  await t.rejects(world.reconcile(), { name: 'ForeignObjectError' });
  t.match(world.job().status, { phase: 'failed', message: /CronJob "report" in shop-prod was not created by/ });
  t.match(world.kube.all(kinds.CronJob), [{ spec: foreign }]);
  t.same(world.runs(), []);
  await world.kube.delete({ apiVersion: 'batch/v1', kind: 'CronJob', namespace, name: 'report' });
  await world.reconcile();
  t.match(world.job().status, { phase: 'running', conditions: [{ type: 'ChildrenAdopted', status: 'True' }] });
  t.notOk(world.job().status?.message);
});

t.test('deleting removes all objects, then the name and the finalizer', async (t) => {
  const world = jobWorld({ schedule: '0 2 * * *' });
  await world.ask(1);
  await world.reconcile();
  await world.kube.delete(ref);
  await world.reconcile();
  for (const kind of [kinds.Job, kinds.CronJob, kinds.BatchJob, kinds.WorkloadName]) {
    t.same(world.kube.all(kind), [], kind.plural);
  }
  t.same(world.deleted, [id]);
});

t.test('changes of runs and pods queue their job', (t) => {
  const { controller } = jobWorld();
  const keys = (controller.watches ?? []).map((watch) => [
    watch.kind.kind,
    watch.keysOf(
      {
        apiVersion: '',
        kind: '',
        metadata: { name: 'report', namespace, uid: '', resourceVersion: '', labels: { app: 'report' } },
      },
      () => [],
    ),
  ]);
  t.same(keys, [
    ['Job', [{ name: 'report', namespace }]],
    ['Pod', [{ name: 'report', namespace }]],
    ['WorkloadName', [{ name: 'report', namespace }]],
  ]);
  t.end();
});
