import t from 'tap';
import { serviceStatefulSet, type ServiceStatefulSet } from '../../../infra/manifests/service.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { ensureChild } from '../../../runtime/kube/children.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import type { ServiceResource } from '../../../runtime/contracts/resources/service.ts';
import { workloadLabels } from '../../../runtime/domain/labels.ts';
import type { Secret } from '../../../runtime/workloads/owned-secret.ts';
import { serviceController } from '../../../workers/controllers/service.ts';
import { fakeClock } from '../../support/clock.ts';
import { environmentNamespaceObject } from '../../support/cluster.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { settings } from '../../support/objects.ts';
import { fixedId } from '../../support/state-space.ts';

const namespace = 'shop-prod';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Service', namespace, name: 'orders' };
const claimRef = { apiVersion: 'platform.svc/v1', kind: 'WorkloadName', namespace, name: 'orders' };

const image = (name: string) => `registry.test/${name}:1`;
const serviceImages = { postgres: image('postgres'), redis: image('redis'), minio: image('minio') };
const config = { ...settings, serviceImages };

function createWorld(spec: object, labels: Record<string, string> = {}) {
  const kube = fakeKube();
  kube.seed(environmentNamespaceObject('shop', 'prod'), {
    ...ref,
    metadata: { name: 'orders', namespace, labels },
    spec,
  });
  const events: string[] = [];
  const forgotten: string[] = [];
  const controller = serviceController({
    kube,
    clock: fakeClock(),
    platformConfig: () => config,
    records: { forgetDatabases: (id) => Promise.resolve(void forgotten.push(id)) },
    events: { record: (_, { reason, message }) => Promise.resolve(void events.push(`${reason}: ${message}`)) },
  });
  const service = () => kube.all<ServiceResource>(kinds.ServiceResource)[0];
  const reconcile = () =>
    controller.reconcile({
      namespace,
      name: 'orders',
      object: service(),
      log: silentLog,
      signal: new AbortController().signal,
    });
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return { kube, controller, service, reconcile, writes, events, forgotten };
}

t.test('a namespace that is being deleted may take the right to delete Secrets first', async (t) => {
  const world = createWorld({ type: 'postgres', external: { host: 'db.example.com', tls: true } });
  await world.reconcile();
  const { kube } = world;
  await kube.delete(ref);
  kube.intercept = async ({ verb, kind }) => {
    if (kind === 'Secret' && verb === 'get') throw new KubeError(403, 'Forbidden', 'no rights');
  };
  await t.rejects(world.reconcile(), { message: 'no rights' });
  await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: namespace });
  await world.reconcile();
  t.equal(world.service(), undefined);
});

t.test('an external service claims its name and reports its address', async (t) => {
  const world = createWorld({ type: 'postgres', external: { host: 'db.example.com', tls: true } });
  await world.reconcile();
  t.match(world.service(), {
    metadata: {
      finalizers: ['platform.svc/records'],
      labels: { 'platform.svc/project': 'shop', 'platform.svc/environment': 'prod' },
    },
    status: {
      observedGeneration: 1,
      phase: 'ready',
      host: 'db.example.com',
      port: 5432,
      conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
    },
  });
  t.match(world.kube.all(kinds.WorkloadName), [{ metadata: { name: 'orders' }, spec: { kind: 'Service' } }]);
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a finished service is not changed');
});

t.test('addresses and ports are used unchanged; each type has its default port', async (t) => {
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

t.test('an invalid host is reported, and a valid one clears the error', async (t) => {
  for (const host of ['db', 'Db.example.com', 'db.example.com:5432', 'postgres://db.example.com', 'a b.example.com']) {
    const world = createWorld({ type: 'postgres', external: { host } });
    await t.rejects(world.reconcile(), { code: 'invalid_value' });
    t.match(world.service()?.status, {
      phase: 'failed',
      message: /is not a lower-case host name/,
      conditions: [{ type: 'ChildrenAdopted', status: 'False', reason: 'ChildReconcileFailed' }],
    });
    t.match(world.events, [/^ReconcileFailed: /]);
    await world.kube.mergePatch(ref, { spec: { external: { host: 'db.example.com' } } });
    await world.reconcile();
    t.match(world.service()?.status, { phase: 'ready', conditions: [{ status: 'True' }] });
    t.notOk(world.service()?.status?.message);
  }
});

/** Reports what the StatefulSet controller and the kubelet would, with this status for the pod. */
async function runServer({ kube, service }: ReturnType<typeof createWorld>, status: Pod['status']): Promise<void> {
  const [set] = kube.all<ServiceStatefulSet>(kinds.StatefulSet);
  const labels = set?.metadata.labels ?? {};
  if (!set || !service()) throw new Error('there is no server');
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data-orders-0', namespace, labels },
  };
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'orders', uid: set.metadata.uid, controller: true };
  const metadata = { name: 'orders-0', namespace, labels, ownerReferences: [owner] };
  kube.seed(claim, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [] }, status });
}

const readyPod = { phase: 'Running' as const, conditions: [{ type: 'Ready', status: 'True' }] };

t.test('a managed service gets a password once, an address and storage, and is ready when it answers', async (t) => {
  const world = createWorld({ type: 'postgres', storage: { size: '2Gi', storageClass: 'fast' } });
  await world.reconcile();
  const [secret] = world.kube.all<Secret>(kinds.Secret);
  t.match(secret, { metadata: { name: 'service-orders-credentials', ownerReferences: [{ kind: 'Service' }] } });
  t.same(Object.keys(secret?.data ?? {}), ['username', 'database', 'password']);
  const password = Buffer.from(secret?.data?.['password'] ?? '', 'base64').toString();
  t.match(password, /^[\w-]{32}$/);
  const [set] = world.kube.all<ServiceStatefulSet>(kinds.StatefulSet);
  t.match(set?.spec, {
    replicas: 1,
    template: { spec: { automountServiceAccountToken: false, containers: [{ image: 'registry.test/postgres:1' }] } },
    volumeClaimTemplates: [{ spec: { storageClassName: 'fast', resources: { requests: { storage: '2Gi' } } } }],
  });
  t.notMatch(JSON.stringify([set, world.service()]), password);
  t.match(world.kube.all(kinds.Service), [{ metadata: { name: 'orders' }, spec: { ports: [{ port: 5432 }] } }]);
  const reach = { host: 'orders.shop-prod.svc', port: 5432 };
  t.match(world.service()?.status, { phase: 'pending', message: 'The server is starting.', ...reach });

  await runServer(world, readyPod);
  await world.reconcile();
  t.match(world.service()?.status, { phase: 'ready', message: undefined, ...reach });
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'a finished service is not changed');
});

t.test('the end of the log of a server is in its status; older servers are not restarted for it', async (t) => {
  const world = createWorld({ type: 'postgres' });
  const server = () => world.kube.all<ServiceStatefulSet>(kinds.StatefulSet)[0];
  const container = () => server()?.spec.template.spec?.containers[0];
  await world.reconcile();
  t.equal(container()?.terminationMessagePolicy, 'FallbackToLogsOnError');

  // As the first release left it.
  const old = serviceStatefulSet({
    id: server()?.metadata.labels?.['platform.svc/id'] ?? '',
    name: 'orders',
    namespace,
    type: 'postgres',
    storage: undefined,
    image: image('postgres'),
    readySeconds: container()?.readinessProbe?.periodSeconds ?? 0,
    logsOnError: false,
  });
  await ensureChild(world.kube, world.service(), old);
  t.equal(container()?.terminationMessagePolicy, undefined);
  const before = world.writes();
  await world.reconcile();
  t.equal(container()?.terminationMessagePolicy, undefined);
  t.equal(world.writes(), before, 'nothing is written');

  const patch = { spec: { template: { spec: { containers: [{ ...container(), image: image('older') }] } } } };
  await world.kube.mergePatch({ apiVersion: 'apps/v1', kind: 'StatefulSet', namespace, name: 'orders' }, patch);
  await world.reconcile();
  t.match(container(), { image: image('postgres'), terminationMessagePolicy: 'FallbackToLogsOnError' });
});

t.test('an object store has its own kind of access key', async (t) => {
  const world = createWorld({ type: 'minio' });
  await world.reconcile();
  const [secret] = world.kube.all<Secret>(kinds.Secret);
  const read = (field: string) => Buffer.from(secret?.data?.[field] ?? '', 'base64').toString();
  t.same(Object.keys(secret?.data ?? {}), ['accessKey', 'region', 'secretKey']);
  t.match([read('accessKey'), read('region'), read('secretKey')], ['svc', 'us-east-1', /^[\w-]{32}$/]);
  t.match(world.service()?.status, { host: 'orders.shop-prod.svc', port: 9000 });
  const [, eventsSecret] = world.kube.all<Secret>(kinds.Secret);
  t.match(eventsSecret, { metadata: { name: 'service-orders-events', ownerReferences: [{ name: 'orders' }] } });
  t.match(Buffer.from(eventsSecret?.data?.['token'] ?? '', 'base64').toString(), /^[\w-]{32}$/);
  t.not(eventsSecret?.data?.['token'], secret?.data?.['secretKey'], 'the token is valid for nothing else');
  await world.reconcile();
  t.same(world.kube.all<Secret>(kinds.Secret)[1]?.data, eventsSecret?.data);
});

t.test('the reason why a server does not start is reported', async (t) => {
  const waiting = (reason: string, restartCount: number, lastState = {}) => ({
    containerStatuses: [{ name: 'redis', ready: false, restartCount, state: { waiting: { reason } }, lastState }],
  });
  const crash = { terminated: { exitCode: 1, message: 'redis: the disk is full' } };
  const conditions = [
    { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/1 nodes: Insufficient memory.' },
  ];
  for (const [status, phase, message] of [
    [waiting('ImagePullBackOff', 0), 'pending', /image cannot be pulled/],
    [waiting('CrashLoopBackOff', 5, crash), 'failed', /keeps crashing \(exit code 1\).*the disk is full/],
    [{ conditions }, 'pending', /No node has room for the server: .*Insufficient memory/],
  ] as const) {
    const world = createWorld({ type: 'redis' });
    await world.reconcile();
    await runServer(world, status);
    await world.reconcile();
    t.match(world.service()?.status, { phase, message });
  }
});

t.test('a type without an image fails and names the command that installs it', async (t) => {
  const world = createWorld({ type: 'mysql' });
  await t.rejects(world.reconcile(), { code: 'service_not_installed' });
  t.match(world.service()?.status, { phase: 'failed', message: /apt-get install mariadb-server/ });
  t.same(world.kube.all(kinds.StatefulSet), []);
});

t.test('a lost password is not replaced by one that the data does not match', async (t) => {
  const world = createWorld({ type: 'postgres' });
  await world.reconcile();
  await runServer(world, readyPod);
  await world.kube.delete({ apiVersion: 'v1', kind: 'Secret', namespace, name: 'service-orders-credentials' });
  await t.rejects(world.reconcile(), { code: 'conflict' });
  t.match(world.service()?.status, { phase: 'failed', message: /Restore the Secret from a backup/ });
  t.same(world.kube.all(kinds.Secret), []);
});

t.test('deleting stops the server before deleting its data, and keeps foreign objects of the same name', async (t) => {
  const world = createWorld({ type: 'postgres' });
  await world.reconcile();
  await runServer(world, readyPod);
  await world.kube.delete(ref);
  const pod = { apiVersion: 'v1', kind: 'Pod', namespace, name: 'orders-0' };
  await world.kube.mergePatch(pod, { metadata: { finalizers: ['test/running'], ownerReferences: [] } });
  await t.rejects(world.reconcile(), { name: 'NotYetError', message: /still being stopped/ });
  t.equal(world.kube.all(kinds.PersistentVolumeClaim).length, 1, 'the data is deleted after the pod');
  t.equal(world.kube.all(kinds.Secret).length, 1);
  await world.kube.mergePatch(pod, { metadata: { finalizers: null } });
  await world.kube.delete(pod);
  await world.reconcile();
  const owned = [kinds.StatefulSet, kinds.PersistentVolumeClaim, kinds.Service, kinds.Secret, kinds.WorkloadName];
  for (const kind of [...owned, kinds.ServiceResource]) t.same(world.kube.all(kind), [], kind.kind);

  const other = createWorld({ type: 'redis' });
  await other.reconcile();
  const labels = { 'app.kubernetes.io/managed-by': 'kipper', 'platform.svc/id': fixedId(7) };
  other.kube.seed({
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'data-orders-0', namespace, labels },
  });
  await other.kube.delete(ref);
  await other.reconcile();
  t.same(other.service(), undefined);
  t.equal(other.kube.all(kinds.PersistentVolumeClaim).length, 1, "a volume's claim");
  t.equal(other.forgotten.length, 1, 'the records of its bindings are deleted');
});

t.test('a name that another kind holds is refused, naming both, and is used once it is free', async (t) => {
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
  const keys = world.controller.watches?.flatMap((watch) =>
    back && watch.kind === kinds.WorkloadName ? watch.keysOf(back, () => []) : [],
  );
  t.same(keys, [{ name: 'orders', namespace }], 'the end of the claim queues the service');
  await world.kube.delete(claimRef);
  await world.reconcile();
  t.match(world.service()?.status, { phase: 'ready' });
});

t.test('deleting releases only the service’s own name', async (t) => {
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
