import { Registry } from 'prom-client';
import t from 'tap';
import type { ControllerHealth } from '../../../runtime/contracts/api/health.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { Problem, type ProblemCode } from '../../../runtime/domain/problem.ts';
import { ChildError, ForeignObjectError, NotYetError } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition, ReconcileRequest } from '../../../runtime/kube/controller.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { createManager } from '../../../runtime/kube/manager.ts';
import { fakeClock, settle } from '../../support/clock.ts';
import { fakeKube, type FakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';

const app = (name: string, spec: object = {}): KubeObject => ({
  apiVersion: 'platform.svc/v1',
  kind: 'App',
  metadata: { name, namespace: 'shop-prod', uid: `uid-${name}` },
  spec,
});

interface Teardown {
  teardown(end: () => unknown): void;
}

/** A manager with one controller whose passes a test controls. */
function setUp(t: Teardown, definition: Partial<ControllerDefinition> = {}) {
  const kube = fakeKube();
  const clock = fakeClock();
  const registry = new Registry();
  const passes: string[] = [];
  const events: string[] = [];
  const world = {
    kube,
    clock,
    registry,
    passes,
    events,
    pass: async (_request: ReconcileRequest<KubeObject>): Promise<{ requeueAfterMs?: number } | void> => undefined,
    manager: createManager({
      kube,
      clock,
      registry,
      log: silentLog,
      lease: { namespace: 'svc-system', name: 'svc-controllers', identity: 'a' },
      endProcess: () => events.push('process ended'),
      resyncMs: 600_000,
    }),
    metric: async (name: string, labels: Record<string, string>) => {
      const { values } = (await registry.getSingleMetric(name)?.get()) ?? { values: [] };
      return values.find((value) => Object.entries(labels).every(([key, expected]) => value.labels[key] === expected))
        ?.value;
    },
  };
  world.manager.add({
    name: 'App',
    kind: kinds.App,
    reconcile(request) {
      passes.push(`${request.name}${request.object ? '' : ' gone'}`);
      return world.pass(request);
    },
    ...definition,
  });
  t.teardown(() => world.manager.stop());
  return world;
}

t.test('every object gets a pass, and another after each change; a deleted one is seen as deleted', async (t) => {
  const { manager, kube, passes, clock } = setUp(t);
  kube.seed(app('one'), app('two'));
  manager.start();
  await clock.advance(1_000);
  t.same(passes.sort(), ['one', 'two']);
  passes.length = 0;
  await kube.create(app('three'));
  await settle();
  await kube.delete({ apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'one' });
  await settle();
  t.same(passes, ['three', 'one gone']);
});

t.test('objects that do not concern a controller get no pass, also after a resync', async (t) => {
  const { manager, kube, passes, clock } = setUp(t, {
    concerns: ({ spec }) => (spec as { replicas?: number }).replicas === 0,
  });
  kube.seed(app('one'), app('two', { replicas: 0 }));
  manager.start();
  await clock.advance(1_000);
  t.same(passes, ['two']);
  const change = (name: string, spec: object) =>
    kube.mergePatch({ apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name }, { spec });
  await change('one', { replicas: 1 });
  await settle();
  t.same(passes, ['two']);
  await change('one', { replicas: 0 });
  await settle();
  t.same(passes, ['two', 'one']);
  await change('one', { replicas: 2 });
  await settle();
  t.same(passes, ['two', 'one', 'one'], 'the end of it is a change, too');
  passes.length = 0;
  await clock.advance(600_000);
  await clock.advance(600_000);
  t.same(passes, ['two']);
});

t.test('a change of a child queues its owner, and a watched object those it concerns', async (t) => {
  const { manager, kube, passes, clock } = setUp(t, {
    owns: [kinds.Deployment],
    watches: [
      {
        kind: kinds.WorkloadName,
        keysOf: ({ metadata: { name } }, apps) =>
          apps()
            .filter(({ metadata }) => metadata.name.startsWith(name))
            .map(({ metadata }) => ({ name: metadata.name, namespace: 'shop-prod' })),
      },
    ],
  });
  kube.seed(app('one'), app('other'));
  manager.start();
  await clock.advance(1_000);
  passes.length = 0;
  const owned = (labels: Record<string, string>, kind: string): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: `child-${kind}-${Object.keys(labels).length}`,
      namespace: 'shop-prod',
      labels,
      ownerReferences: [{ apiVersion: 'platform.svc/v1', kind, name: 'one', uid: 'uid-one', controller: true }],
    },
  });
  const managed = { 'app.kubernetes.io/managed-by': 'kipper' };
  await kube.create(owned(managed, 'App'));
  await settle();
  t.same(passes, ['one']);
  await kube.create(owned(managed, 'Function'));
  await kube.create(owned({}, 'App'));
  await settle();
  t.same(passes, ['one'], 'children of other kinds and foreign ones queue nothing');
  const metadata = { name: 'oth', namespace: 'shop-prod' };
  await kube.create({ apiVersion: 'platform.svc/v1', kind: 'WorkloadName', metadata });
  await settle();
  t.same(passes, ['one', 'other']);
});

t.test('a watch that ignores new objects queues changes and deletions', async (t) => {
  const { manager, kube, passes, clock } = setUp(t, {
    watches: [
      {
        kind: kinds.WorkloadName,
        ignoreAdded: true,
        keysOf: ({ metadata: { name } }) => [{ name, namespace: 'shop-prod' }],
      },
    ],
  });
  kube.seed(app('one'));
  manager.start();
  await clock.advance(1_000);
  passes.length = 0;
  const claim = { apiVersion: 'platform.svc/v1', kind: 'WorkloadName', namespace: 'shop-prod', name: 'one' };
  const { namespace, name, ...type } = claim;
  await kube.create({ ...type, metadata: { namespace, name } });
  await settle();
  t.same(passes, []);
  await kube.mergePatch(claim, { metadata: { labels: { changed: 'yes' } } });
  await settle();
  t.same(passes, ['one']);
  await kube.delete(claim);
  await settle();
  t.same(passes, ['one', 'one']);
});

t.test('a failing pass is repeated after its back-off, until it succeeds', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'));
  let failing = true;
  world.pass = async () => {
    if (failing) throw new Error('broken');
  };
  world.manager.start();
  await world.clock.advance(10_000);
  const tries = world.passes.length;
  t.ok(tries >= 10 && tries <= 13, `${tries} tries in ten seconds`);
  t.equal(await world.metric('controller_runtime_reconcile_errors_total', { controller: 'App' }), tries);
  failing = false;
  await world.clock.advance(20_000);
  t.equal(world.passes.length, tries + 1);
  await world.clock.advance(60_000);
  t.equal(world.passes.length, tries + 1);
  t.equal(await world.metric('controller_runtime_reconcile_total', { controller: 'App', result: 'success' }), 1);

  failing = true;
  const before = world.passes.length;
  await world.kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'one' },
    { spec: { a: 1 } },
  );
  await world.clock.advance(1_000);
  t.ok(world.passes.length - before >= 7, 'the next failure starts with short waits again');
});

t.test('a conflict and an object being deleted are not errors', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'));
  const thrown = [
    new KubeError(409, 'Conflict', 'modified'),
    new NotYetError('going'),
    new KubeError(403, 'NamespaceTerminating', 'x'),
  ];
  world.pass = async () => {
    const error = thrown.shift();
    if (error) throw error;
  };
  world.manager.start();
  await world.clock.advance(1_000);
  t.equal(world.passes.length, 4);
  t.equal(await world.metric('controller_runtime_reconcile_errors_total', { controller: 'App' }), 0);
  t.equal(await world.metric('controller_runtime_reconcile_total', { controller: 'App', result: 'requeue' }), 3);
});

t.test('what a user asked for and the controller refuses is retried, and is not an error', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'));
  const ref = { apiVersion: 'v1', kind: 'Service', name: 'one', namespace: 'shop-prod' };
  const refused = (message: string) =>
    new ChildError(ref, 'refused', { cause: new KubeError(403, 'Forbidden', message) });
  const { metadata, ...type } = app('one');
  const foreign: Stored<KubeObject> = { ...type, metadata: { ...metadata, uid: 'other', resourceVersion: '1' } };
  const codes: ProblemCode[] = ['name_taken', 'host_taken', 'invalid_value', 'volume_not_expandable'];
  const refusals: Error[] = [
    ...codes.map((code) => new Problem(code, 'no')),
    new ForeignObjectError(foreign, 'was not created by the platform'),
    refused('persistentvolumeclaims "a" is forbidden: exceeded quota: environment, requested: 1Gi'),
  ];
  const failures: Error[] = [
    new Problem('unavailable', 'no settings'),
    new Problem('internal', 'broken'),
    refused('deployments.apps is forbidden: User "x" cannot create resource'),
    new ChildError(ref, 'refused', { cause: new KubeError(422, 'Invalid', 'spec.template: Required value') }),
    new TypeError('a mistake in the code'),
  ];
  const thrown = [...refusals, ...failures];
  const total = thrown.length;
  world.pass = async () => {
    const error = thrown.shift();
    if (error) throw error;
  };
  world.manager.start();
  await world.clock.advance(60_000);
  t.equal(world.passes.length, total + 1);
  const count = (result: string) => world.metric('controller_runtime_reconcile_total', { controller: 'App', result });
  t.equal(await count('refused'), refusals.length);
  t.equal(await count('error'), failures.length);
  t.equal(await world.metric('controller_runtime_reconcile_errors_total', { controller: 'App' }), failures.length);
});

t.test('from copies, an object is read after a failure and while it is deleted, and else not', async (t) => {
  const world = setUp(t, { fromCopies: true });
  const { manager, kube, clock, passes } = world;
  kube.seed({ ...app('one'), metadata: { ...app('one').metadata, finalizers: ['platform.svc/test'] } });
  manager.start();
  await clock.advance(1_000);
  const reads = async (change: () => Promise<unknown>) => {
    const before = kube.calls.length;
    const passesBefore = passes.length;
    await change();
    await clock.advance(1_000);
    t.ok(passes.length > passesBefore);
    return kube.calls.slice(before).filter(({ verb, kind }) => verb === 'get' && kind === 'App').length;
  };
  const { apiVersion, kind } = kinds.App;
  const ref = { apiVersion, kind, namespace: 'shop-prod', name: 'one' };
  const touch = (value: string) => kube.mergePatch(ref, { metadata: { annotations: { touched: value } } });
  t.equal(await reads(() => touch('a')), 0);
  let fails = true;
  world.pass = async () => {
    if (!fails) return;
    fails = false;
    throw new KubeError(409, 'Conflict', 'the copy was old');
  };
  t.equal(await reads(() => touch('b')), 1, 'the pass after the conflict');
  t.equal(await reads(() => touch('c')), 0);
  const seen: unknown[] = [];
  world.pass = async ({ object }) => void seen.push(object?.metadata.deletionTimestamp);
  t.equal(await reads(() => kube.delete(ref)), 1);
  t.match(seen, [String]);
});

t.test('a pass is repeated when it asks for that', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'));
  world.pass = async () => (world.passes.length < 3 ? { requeueAfterMs: 5_000 } : undefined);
  world.manager.start();
  await world.clock.advance(4_000);
  t.equal(world.passes.length, 1);
  await world.clock.advance(20_000);
  t.equal(world.passes.length, 3);
});

t.test('a key is never processed twice at once, and several keys are', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'), app('two'));
  let running = 0;
  const together: number[] = [];
  const ends: (() => void)[] = [];
  const perKey = new Set<string>();
  world.pass = async ({ name }) => {
    t.notOk(perKey.has(name));
    perKey.add(name);
    together.push(++running);
    await new Promise<void>((resolve) => ends.push(resolve));
    running -= 1;
    perKey.delete(name);
  };
  world.manager.start();
  await world.clock.advance(1_000);
  t.equal(running, 2);
  const ref = { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'one' };
  for (const port of [1, 2, 3]) await world.kube.mergePatch(ref, { spec: { port } });
  await world.clock.advance(4_000);
  t.equal(running, 2);
  t.equal(await world.metric('workqueue_longest_running_processor_seconds', { controller: 'App', name: 'App' }), 5);
  for (const end of ends.splice(0)) end();
  await settle();
  t.same(world.passes.sort(), ['one', 'one', 'two'], 'three changes during a pass cause one more pass');
  for (const end of ends.splice(0)) end();
});

t.test('every object gets a pass after the resync time, jittered', async (t) => {
  const world = setUp(t);
  world.kube.seed(app('one'), app('two'));
  world.manager.start();
  await world.clock.advance(1_000);
  t.equal(world.passes.length, 2);
  await world.clock.advance(590_000);
  t.equal(world.passes.length, 2);
  await world.clock.advance(610_000);
  t.equal(world.passes.length, 4);
});

t.test('the report is healthy only when this process leads, has synced caches and runs its controllers', async (t) => {
  const world = setUp(t);
  const registered: ControllerHealth['controllers'] = [{ name: 'App', registered: true }];
  const starting = { healthy: false, managerStarted: false, cacheSynced: false };
  t.same(world.manager.report(), { ...starting, controllers: [{ name: 'App', registered: false }] });
  let unreachable = true;
  world.kube.intercept = ({ kind, verb }) => {
    if (unreachable && kind === 'App' && verb === 'list') throw new Error('unreachable');
  };
  world.manager.start();
  await world.clock.advance(1_000);
  t.ok(world.manager.isLeader());
  t.same(world.manager.report(), { ...starting, controllers: registered });
  unreachable = false;
  await world.clock.advance(30_000);
  t.same(world.manager.report(), { healthy: true, managerStarted: true, cacheSynced: true, controllers: registered });
});

t.test(
  'nothing runs without leadership; after losing it, the process competes again once its work has ended',
  async (t) => {
    const world = setUp(t);
    const { manager, kube, clock, passes, events } = world;
    const parts: string[] = [];
    manager.addLeaderPart({
      name: 'scaler',
      start: () => void parts.push('start'),
      stop: () => void parts.push('stop'),
    });
    kube.seed(app('one'), lease);
    manager.start();
    await clock.advance(14_000);
    t.same([passes, parts], [[], []]);
    await clock.advance(6_000);
    t.same([passes, parts], [['one'], ['start']]);
    const slow = slowPass(world);
    await change(kube, 1);
    await stealLease(kube);
    await clock.advance(3_000);
    t.same(parts, ['start', 'stop']);
    t.same(events, ['pass told']);
    t.notOk(manager.isLeader());
    t.equal(manager.report().healthy, false);
    await clock.advance(20_000);
    t.match(await kube.get(kinds.Lease, 'svc-controllers', 'svc-system'), { spec: { holderIdentity: 'thief' } });
    slow.end();
    world.pass = async () => undefined;
    passes.length = 0;
    await clock.advance(20_000);
    t.ok(manager.isLeader());
    t.ok(manager.report().healthy);
    t.same([passes, parts], [['one'], ['start', 'stop', 'start']], 'everything is looked at again');
    await change(kube, 2);
    t.same(passes, ['one', 'one']);
    t.same(events, ['pass told'], 'the process goes on');

    await manager.stop();
    t.same(parts, ['start', 'stop', 'start', 'stop']);
    await kube.create(app('late'));
    await clock.advance(10_000);
    t.notOk(passes.includes('late'));
    t.equal(clock.sleepers(), 0);
  },
);

t.test('a leader whose work does not end after the loss ends the process, and does not lead again', async (t) => {
  const world = setUp(t);
  const { manager, kube, clock, events } = world;
  kube.seed(app('one'));
  const slow = slowPass(world);
  manager.start();
  await clock.advance(1_000);
  await stealLease(kube);
  await clock.advance(110_000);
  t.same(events, ['pass told']);
  await clock.advance(20_000);
  t.same(events, ['pass told', 'process ended']);
  await clock.advance(30_000);
  t.notOk(manager.isLeader());
  slow.end();
});

t.test('a leader that loses the Lease before its first lists competes again, and then starts', async (t) => {
  const { manager, kube, clock, passes, events } = setUp(t);
  kube.seed(app('one'));
  let isAway = false;
  kube.intercept = ({ kind }) => {
    if (isAway || (kind === 'App' && passes.length === 0 && clock.monotonic() < 40_000)) throw new Error('unreachable');
  };
  manager.start();
  await clock.advance(1_000);
  t.ok(manager.isLeader());
  isAway = true;
  await clock.advance(15_000);
  t.notOk(manager.isLeader());
  isAway = false;
  await clock.advance(60_000);
  t.ok(manager.isLeader());
  t.same(passes, ['one']);
  t.same(events, []);
});

const lease = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { name: 'svc-controllers', namespace: 'svc-system' },
  spec: { holderIdentity: 'b', leaseDurationSeconds: 15 },
};

async function stealLease(kube: FakeKube): Promise<void> {
  const live = await kube.get<Stored<KubeObject>>(kinds.Lease, 'svc-controllers', 'svc-system');
  if (live) await kube.replace({ ...live, spec: { holderIdentity: 'thief', leaseDurationSeconds: 15 } });
}

async function change(kube: FakeKube, value: number): Promise<void> {
  await kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'one' },
    { spec: { value } },
  );
  await settle();
}

/** Lets passes go on until the end is called. */
function slowPass(world: ReturnType<typeof setUp>): { end(): void } {
  const ended = Promise.withResolvers<void>();
  world.pass = ({ signal }) => {
    signal.addEventListener('abort', () => world.events.push('pass told'));
    return ended.promise;
  };
  return { end: () => ended.resolve() };
}
