import t from 'tap';
import type { BatchJob } from '../../../infra/manifests/batch.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { functionSpec, type FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { functionController } from '../../../workers/controllers/function.ts';
import { fakeClock } from '../../support/clock.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { settings } from '../../support/objects.ts';

interface CronJob extends KubeObject {
  spec: { jobTemplate: { spec: BatchJob['spec'] } };
}

const namespace = 'shop-prod';
const id = '019a0000-0000-7000-8000-0000000000c1';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Function', namespace, name: 'nightly' };
const workload = { kind: 'Function' as const, name: 'nightly', id };
const cron = { runtime: 'node', code: 'first', trigger: 'cron', schedule: '0 2 * * *' };
const request = { id: '00c0ffee00', at: '2026-11-21T12:00:00Z', by: 'ada@svc.test' };
const testName = 'nightly-test-00c0ffee00';

function createWorld(spec: object = cron) {
  const clock = fakeClock();
  const kube = fakeKube({ now: () => clock.now() });
  kube.seed(environmentNamespaceObject('shop', 'prod'));
  kube.seed({
    ...ref,
    metadata: { name: 'nightly', namespace, labels: { 'platform.svc/id': id } },
    spec: functionSpec.parse(spec),
  });
  const warnings: string[] = [];
  const deleted: string[] = [];
  const controller = functionController({
    kube,
    clock,
    platformConfig: () => settings,
    records: {
      project: () => Promise.resolve(),
      projectBindings: () => Promise.resolve(),
      projectEvents: () => Promise.resolve(undefined),
      markDeleted: (row) => Promise.resolve(void deleted.push(row)),
    },
    events: { record: (_, { message }) => Promise.resolve(void warnings.push(message)) },
    probeGate: () => Promise.reject(new Error('there is no route to ask about')),
  });
  const all = (kind: ResourceKind) => kube.all(kind).map(({ metadata }) => metadata.name);
  const resource = (): Stored<FunctionResource> => {
    const [object] = kube.all<FunctionResource>(kinds.Function);
    if (!object) throw new Error('there is no function');
    return object;
  };
  const reconcile = () =>
    controller.reconcile({
      namespace,
      name: 'nightly',
      object: kube.all<FunctionResource>(kinds.Function)[0],
      log: silentLog,
      signal: new AbortController().signal,
    });
  const runs = () => kube.all<BatchJob>(kinds.BatchJob);
  const change = (next: object) => kube.mergePatch(ref, { spec: next });
  /** Reports a run as the Job controller does, with its pod's message. */
  const end = async (name: string, type: 'Complete' | 'Failed', message?: string) => {
    const at = clock.now().toISOString();
    const run = runs().find(({ metadata }) => metadata.name === name);
    if (!run) throw new Error(`there is no run ${name}`);
    const conditions = [{ type, status: 'True', lastTransitionTime: at, message: 'Job has failed' }];
    await kube.replaceStatus<BatchJob>({ ...run, status: { startTime: at, conditions } });
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: `${name}-x1`,
        namespace,
        labels: { ...podLabels(workload, 'test'), 'batch.kubernetes.io/job-name': name },
      },
      spec: { containers: [{ name: 'function' }] },
      status: {
        phase: type === 'Failed' ? 'Failed' : 'Succeeded',
        containerStatuses: [
          {
            name: 'function',
            ready: false,
            restartCount: 0,
            state: {
              terminated: { exitCode: type === 'Failed' ? 1 : 0, ...(message !== undefined && { message: message }) },
            },
          },
        ],
      },
    };
    if (message !== undefined) kube.seed(pod);
  };
  /** A run that the CronJob created. */
  const seedScheduled = (name: string) => {
    const [schedule] = kube.all<CronJob>(kinds.CronJob);
    if (!schedule) throw new Error('there is no CronJob');
    const run: BatchJob = {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: {
        name,
        namespace,
        labels: podLabels(workload, 'cron'),
        ownerReferences: [
          { apiVersion: 'batch/v1', kind: 'CronJob', name: 'nightly', uid: schedule.metadata.uid, controller: true },
        ],
      },
      spec: schedule.spec.jobTemplate.spec,
    };
    kube.seed(run);
  };
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return {
    clock,
    kube,
    controller,
    all,
    resource,
    reconcile,
    runs,
    change,
    end,
    seedScheduled,
    writes,
    warnings,
    deleted,
  };
}

t.test('a cron function is a CronJob that receives no requests', async (t) => {
  const world = createWorld();
  await world.reconcile();
  t.match(world.kube.all(kinds.CronJob), [
    { metadata: { name: 'nightly', ownerReferences: [{ kind: 'Function' }] }, spec: { schedule: '0 2 * * *' } },
  ]);
  for (const kind of [kinds.Deployment, kinds.IngressRoute, kinds.HostName, kinds.Service]) {
    t.same(world.all(kind), [], kind.kind);
  }
  t.same(world.all(kinds.WorkloadName), ['nightly']);
  t.equal(world.all(kinds.ConfigMap).length, 1);
  const { status } = world.resource();
  t.match(status, {
    phase: 'scheduled',
    active: 0,
    runs: [],
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });
  t.notOk(status?.host);
  t.notOk(status?.url);
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a pass without changes writes nothing');
});

t.test('a test run is created once, reported, and deleted by the cluster after ten minutes', async (t) => {
  const world = createWorld();
  await world.reconcile();
  await world.change({ runRequests: [request] });
  await world.reconcile();
  const [run] = world.runs();
  t.match(run, {
    metadata: {
      name: testName,
      labels: { app: 'nightly', 'platform.svc/role': 'test' },
      annotations: { 'platform.svc/requested-by': 'ada@svc.test' },
      // Otherwise the CronJob would treat it as its own and delete it with older runs.
      ownerReferences: [{ kind: 'Function', name: 'nightly', controller: false }],
    },
    spec: { backoffLimit: 0 },
  });
  t.notOk(run?.spec['ttlSecondsAfterFinished'], 'while its request exists, deleting the run would create another');
  t.notOk(world.resource().spec.runRequests);
  t.match(world.resource().status, {
    phase: 'running',
    active: 1,
    runs: [{ name: testName, trigger: 'test', state: 'pending', by: 'ada@svc.test' }],
  });
  await world.reconcile();
  t.equal(world.runs()[0]?.spec['ttlSecondsAfterFinished'], 600);
  await world.end(testName, 'Complete');
  await world.reconcile();
  t.match(world.resource().status, { phase: 'scheduled', active: 0, runs: [{ state: 'succeeded' }] });
});

t.test('a failed run makes the function failed, with the runtime’s message, until a run succeeds', async (t) => {
  const world = createWorld();
  await world.reconcile();
  world.seedScheduled('nightly-29384750');
  await world.end('nightly-29384750', 'Failed', '{"level":"info","msg":"x"}\n{"msg":"the handler failed: boom"}\n');
  await world.reconcile();
  t.match(world.resource().status, {
    phase: 'failed',
    message: 'The run nightly-29384750 failed: The program exited with code 1: the handler failed: boom',
    runs: [{ name: 'nightly-29384750', trigger: 'cron', state: 'failed' }],
  });
  await world.clock.advance(60_000);
  await world.change({ runRequests: [request] });
  await world.reconcile();
  await world.end(testName, 'Complete');
  await world.reconcile();
  t.match(world.resource().status, { phase: 'scheduled' });
  t.notOk(world.resource().status?.message);
});

t.test('a failed test run leaves the state of the schedule', async (t) => {
  const world = createWorld();
  await world.change({ runRequests: [request] });
  await world.reconcile();
  await world.end(testName, 'Failed', '{"msg":"the handler failed: boom"}\n');
  await world.reconcile();
  t.match(world.resource().status, {
    phase: 'scheduled',
    runs: [{ trigger: 'test', state: 'failed', message: /boom/ }],
  });
  t.notOk(world.resource().status?.message);
  await world.clock.advance(60_000);
  world.seedScheduled('nightly-29384750');
  await world.end('nightly-29384750', 'Failed');
  await world.reconcile();
  t.match(world.resource().status, { phase: 'failed', message: /nightly-29384750/ });
});

t.test('changing the trigger deletes the objects of the previous one, and back', async (t) => {
  const world = createWorld({ runtime: 'node', code: 'first' });
  await world.reconcile();
  t.same([world.all(kinds.Deployment), world.all(kinds.HostName).length], [['nightly'], 1]);
  t.ok(world.resource().status?.host);

  await world.change({ trigger: 'cron', schedule: '0 2 * * *' });
  await world.reconcile();
  for (const kind of [kinds.Deployment, kinds.IngressRoute, kinds.HostName]) t.same(world.all(kind), [], kind.kind);
  t.same(world.all(kinds.CronJob), ['nightly']);
  t.match(world.resource().status, { phase: 'scheduled' });
  t.notOk(world.resource().status?.host, 'the interceptors no longer have a route to it');
  await world.change({ runRequests: [request] });
  await world.reconcile();
  world.seedScheduled('nightly-29384750');

  await world.change({ trigger: 'http', schedule: null, runRequests: [{ ...request, id: '00c0ffee01' }] });
  await world.reconcile();
  await world.reconcile();
  t.same([world.all(kinds.CronJob), world.all(kinds.BatchJob)], [[], []]);
  t.notOk(world.resource().spec.runRequests, 'nothing runs it');
  t.same(world.all(kinds.Deployment), ['nightly']);
  t.match(world.resource().status, { phase: 'idle', host: String });
  t.notOk(world.resource().status?.runs);
});

t.test('old code is kept for a run that may still need it', async (t) => {
  const world = createWorld();
  await world.reconcile();
  const [old = ''] = world.all(kinds.ConfigMap);
  world.seedScheduled('nightly-29384750');
  await world.change({ code: 'second' });
  t.match(await world.reconcile(), { requeueAfterMs: Number }, 'the cluster may not have seen the change yet');
  await world.clock.advance(61_000);
  await world.reconcile();
  t.ok(world.all(kinds.ConfigMap).includes(old), 'a run without a pod still uses it');
  await world.end('nightly-29384750', 'Complete');
  await world.reconcile();
  t.equal(world.all(kinds.ConfigMap).length, 1);
  t.notOk(world.all(kinds.ConfigMap).includes(old));
});

t.test('a foreign CronJob is reported and not changed', async (t) => {
  const world = createWorld();
  world.kube.seed({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'nightly', namespace },
    spec: { schedule: '1 1 1 1 1' },
  });
  await t.rejects(world.reconcile(), { name: 'ForeignObjectError' });
  t.match(world.resource().status, { phase: 'failed', message: /CronJob "nightly"/ });
  t.match(world.kube.all(kinds.CronJob), [{ spec: { schedule: '1 1 1 1 1' } }]);
  t.equal(world.warnings.length, 1);
});

t.test('deleting removes the schedule and its runs before the name is released', async (t) => {
  const world = createWorld();
  await world.reconcile();
  await world.change({ runRequests: [request] });
  await world.reconcile();
  await world.kube.delete(ref);
  await world.reconcile();
  t.same(world.deleted, [id]);
  for (const kind of [kinds.Function, kinds.CronJob, kinds.BatchJob, kinds.WorkloadName, kinds.ConfigMap]) {
    t.same(world.all(kind), [], kind.kind);
  }
});
