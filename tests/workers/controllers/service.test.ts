import t from 'tap';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import { serviceController } from '../../../workers/controllers/service.ts';
import { fakeClock } from '../../support/clock.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { fixedId } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Service', namespace, name: 'orders' };
const claimRef = { apiVersion: 'platform.svc/v1', kind: 'WorkloadName', namespace, name: 'orders' };

function createWorld(spec: object, labels: Record<string, string> = {}) {
  const kube = fakeKube();
  kube.seed(environmentNamespaceObject('shop', 'prod'), {
    ...ref,
    metadata: { name: 'orders', namespace, labels },
    spec,
  });
  const events: string[] = [];
  const controller = serviceController({
    kube,
    clock: fakeClock(),
    events: { record: (_, { reason, message }) => Promise.resolve(void events.push(`${reason}: ${message}`)) },
  });
  const service = () => kube.all<ServiceResource>(kinds.ServiceResource)[0];
  const reconcile = () =>
    controller.reconcile({
      ...{ namespace, name: 'orders', object: service(), log: silentLog },
      signal: new AbortController().signal,
    });
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return { kube, controller, service, reconcile, writes, events };
}

t.test('an external service holds its name and says where it is reached', async (t) => {
  const world = createWorld({ type: 'postgres', external: { host: 'db.example.com', tls: true } });
  await world.reconcile();
  t.match(world.service(), {
    metadata: {
      finalizers: ['platform.svc/records'],
      labels: { 'platform.svc/project': 'shop', 'platform.svc/environment': 'prod' },
    },
    status: {
      ...{ observedGeneration: 1, phase: 'ready', host: 'db.example.com', port: 5432 },
      conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
    },
  });
  t.match(world.kube.all(kinds.WorkloadName), [{ metadata: { name: 'orders' }, spec: { kind: 'Service' } }]);
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a settled service is left alone');
});

t.test('addresses and ports are taken as they are; each type has its own port', async (t) => {
  for (const [type, external, expected] of [
    ['redis', { host: '10.0.0.7', port: 6380 }, { host: '10.0.0.7', port: 6380 }],
    ['mysql', { host: '2001:db8::7' }, { host: '2001:db8::7', port: 3306 }],
    ['mongodb', { host: 'mongo.example.com' }, { port: 27_017 }],
    ['minio', { host: 's3.example.com' }, { port: 9000 }],
  ] as const) {
    const world = createWorld({ type, external });
    await world.reconcile();
    t.match(world.service()?.status, { phase: 'ready', ...expected }, type);
  }
});

t.test('a host that is none is said, and a better one clears it', async (t) => {
  for (const host of ['db', 'Db.example.com', 'db.example.com:5432', 'postgres://db.example.com', 'a b.example.com']) {
    const world = createWorld({ type: 'postgres', external: { host } });
    await t.rejects(world.reconcile(), { code: 'invalid_value' });
    t.match(world.service()?.status, {
      ...{ phase: 'failed', message: /is not a host name/ },
      conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
    });
    t.match(world.events, [/^ReconcileFailed: /]);
    await world.kube.mergePatch(ref, { spec: { external: { host: 'db.example.com' } } });
    await world.reconcile();
    t.match(world.service()?.status, { phase: 'ready', conditions: [{ status: 'True' }] });
    t.notOk(world.service()?.status?.message);
  }
});

t.test('one that the platform would have to run waits, and says what can be done', async (t) => {
  const world = createWorld({ type: 'postgres' });
  await world.reconcile();
  t.match(world.service()?.status, { phase: 'pending', message: /does not run services of type "postgres" yet/ });
  t.notOk(world.service()?.status?.host);
});

t.test('a name that another kind holds is refused in words that name both, and is had once it is free', async (t) => {
  const world = createWorld({ type: 'redis', external: { host: 'r.example.com' } });
  const app = { kind: 'App' as const, name: 'orders', id: fixedId(9) };
  world.kube.seed({
    ...claimRef,
    metadata: { name: 'orders', namespace, labels: workloadLabels(app) },
    spec: { kind: 'App', workloadId: app.id },
  });
  await t.rejects(world.reconcile(), { code: 'name_taken' });
  t.match(world.service()?.status, {
    phase: 'failed',
    message: /already used by an app in this environment; an app, a function, a job and a service cannot share a name/,
  });
  const back = world.kube.all(kinds.WorkloadName)[0];
  const keys = world.controller.watches?.flatMap((watch) => (back ? watch.keysOf(back, () => []) : []));
  t.same(keys, [{ name: 'orders', namespace }], 'the claim’s end brings the service');
  await world.kube.delete(claimRef);
  await world.reconcile();
  t.match(world.service()?.status, { phase: 'ready' });
});

t.test('deleting gives the name back, and only its own', async (t) => {
  const world = createWorld({ type: 'redis', external: { host: 'r.example.com' } });
  await world.reconcile();
  await world.kube.delete(ref);
  t.ok(world.service(), 'the finalizer holds it');
  await world.reconcile();
  t.same([world.service(), world.kube.all(kinds.WorkloadName)], [undefined, []]);

  const late = createWorld({ type: 'redis' }, { 'platform.svc/id': fixedId(1) });
  await late.reconcile();
  await late.kube.delete(claimRef);
  late.kube.seed({
    ...claimRef,
    metadata: { name: 'orders', namespace },
    spec: { kind: 'Job', workloadId: fixedId(2) },
  });
  await late.kube.delete(ref);
  await late.reconcile();
  t.equal(late.service(), undefined);
  t.match(late.kube.all(kinds.WorkloadName), [{ spec: { kind: 'Job' } }]);
});
