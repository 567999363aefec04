import t from 'tap';
import type { VolumeClaim } from '../../../infra/manifests/volume.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../../runtime/contracts/resources/volume.ts';
import { podLabels } from '../../../runtime/domain/labels.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { volumeController } from '../../../workers/controllers/volume.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { silentLog } from '../../support/log.ts';
import { environmentId } from '../../support/objects.ts';

const namespace = 'shop-prod';
const ref = { apiVersion: 'platform.svc/v1', kind: 'Volume', namespace, name: 'data' };
const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name: 'data' };

function createWorld(spec: object = {}, storageClass: object = {}) {
  const kube = fakeKube();
  const labels = {
    'platform.svc/project': 'shop',
    'platform.svc/environment': 'prod',
    'platform.svc/environment-id': environmentId,
  };
  const fast = { volumeBindingMode: 'WaitForFirstConsumer', allowVolumeExpansion: true, ...storageClass };
  kube.seed(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels } },
    { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name: 'fast' }, ...fast },
    { ...ref, metadata: { name: 'data', namespace }, spec: { size: '1Gi', accessMode: 'ReadWriteOnce', ...spec } },
  );
  const events: string[] = [];
  const controller = volumeController({
    kube,
    clock: fakeClock(),
    events: { record: (_, { reason, message }) => Promise.resolve(void events.push(`${reason}: ${message}`)) },
  });
  const volume = () => kube.all<Volume>(kinds.Volume)[0];
  const claim = () => kube.all<VolumeClaim>(kinds.PersistentVolumeClaim)[0];
  const reconcile = () =>
    controller.reconcile({
      namespace,
      name: 'data',
      object: volume(),
      log: silentLog,
      signal: new AbortController().signal,
    });
  /** Does what the cluster does with the claim: sets the default class and provides storage. */
  const bind = async (capacity = '1Gi', conditions: object[] = []) => {
    const live = claim();
    if (!live) throw new Error('there is no claim');
    const spec = { ...live.spec, storageClassName: 'fast', volumeName: 'pv-1', volumeMode: 'Filesystem' };
    const stored = await kube.replace<VolumeClaim>({ ...live, spec });
    const status = { phase: 'Bound', capacity: { storage: capacity }, conditions };
    await kube.replaceStatus<VolumeClaim>({ ...stored, status } as Stored<VolumeClaim>);
  };
  const seedPod = (name: string, phase: string, more: object = {}) =>
    kube.seed({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace, ...more },
      spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
      status: { phase },
    });
  const resize = (size: string) => kube.mergePatch(ref, { spec: { size } });
  const writes = () => kube.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
  return { kube, controller, volume, claim, reconcile, bind, seedPod, resize, writes, events };
}

t.test('a new volume gets its claim and reports why it waits', async (t) => {
  const world = createWorld({ storageClass: 'fast' });
  await world.reconcile();
  t.match(world.claim(), {
    metadata: { name: 'data', ownerReferences: [{ kind: 'Volume', name: 'data' }] },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, storageClassName: 'fast' },
  });
  t.match(world.volume()?.status, {
    phase: 'waiting',
    message: /when the volume is first mounted/,
    storageClass: 'fast',
  });
  await world.bind();
  await world.reconcile();
  t.match(world.volume()?.status, {
    phase: 'ready',
    capacity: '1Gi',
    conditions: [{ type: 'ChildrenAdopted', status: 'True' }],
  });
  t.notOk(world.volume()?.status?.message);
  const before = world.writes();
  await world.reconcile();
  t.equal(world.writes(), before, 'fields that the cluster filled in are unchanged');
});

t.test('a storage class that does not exist, or a missing default, is reported', async (t) => {
  const missing = createWorld({ storageClass: 'slow' });
  await missing.reconcile();
  t.match(missing.volume()?.status, { phase: 'waiting', message: 'The cluster has no storage class "slow".' });
  const none = createWorld();
  await none.reconcile();
  t.match(none.volume()?.status, { phase: 'waiting', message: /no default storage class/ });
});

t.test('a volume grows with its claim, step by step', async (t) => {
  const world = createWorld();
  await world.reconcile();
  await world.bind();
  await world.resize('2Gi');
  await world.reconcile();
  t.match(world.claim()?.spec, {
    resources: { requests: { storage: '2Gi' } },
    volumeName: 'pv-1',
    storageClassName: 'fast',
    volumeMode: 'Filesystem',
  });
  t.match(world.volume()?.status, { phase: 'resizing', capacity: '1Gi' });
  await world.bind('1Gi', [{ type: 'FileSystemResizePending', status: 'True', message: 'waiting for a pod' }]);
  await world.reconcile();
  t.match(world.volume()?.status, { phase: 'resizing', message: /is resized when a pod next mounts/ });
  await world.bind('2Gi');
  await world.reconcile();
  t.match(world.volume()?.status, { phase: 'ready', capacity: '2Gi' });
});

t.test('a claim never shrinks, whatever the volume’s spec says', async (t) => {
  const world = createWorld({ size: '5Gi' });
  await world.reconcile();
  await world.bind('5Gi');
  await world.resize('1Gi');
  await world.reconcile();
  t.equal(world.claim()?.spec.resources.requests.storage, '5Gi');
  t.equal(world.volume()?.status?.phase, 'ready');
});

t.test('a class that cannot expand is named, and the volume keeps its size', async (t) => {
  const world = createWorld({}, { allowVolumeExpansion: false });
  await world.reconcile();
  await world.bind();
  await world.reconcile();
  await world.resize('2Gi');
  world.kube.intercept = ({ verb, kind }) => {
    if (verb !== 'replace' || kind !== 'PersistentVolumeClaim') return;
    throw new KubeError(403, 'Forbidden', 'only dynamically provisioned pvc can be resized');
  };
  await t.rejects(world.reconcile(), { code: 'volume_not_expandable' });
  t.match(world.volume()?.status, {
    phase: 'failed',
    capacity: '1Gi',
    message: /class "fast" does not support expansion, so the volume cannot grow to 2Gi/,
    conditions: [{ type: 'ChildrenAdopted', status: 'False' }],
  });
  t.match(world.events, [/^ReconcileFailed: /]);
  world.kube.intercept = undefined;
});

t.test('a foreign claim of the same name is not changed', async (t) => {
  const world = createWorld();
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '8Gi' } } };
  world.kube.seed({ ...claimRef, metadata: { name: 'data', namespace }, spec });
  await t.rejects(world.reconcile(), { name: 'ForeignObjectError' });
  t.match(world.volume()?.status, {
    phase: 'failed',
    message: /PersistentVolumeClaim "data" in shop-prod was not created/,
  });
  t.same(world.claim()?.spec, spec);
  await world.kube.delete(ref);
  await world.reconcile();
  t.ok(world.claim(), 'nor is it deleted with the volume');
  t.notOk(world.volume());
});

t.test('a mounted volume keeps its data until no workload mounts it, and names the workloads', async (t) => {
  const world = createWorld();
  await world.reconcile();
  await world.bind();
  const spec = { image: 'x', volumes: [{ name: 'data', path: '/data' }] };
  const job = {
    apiVersion: 'platform.svc/v1',
    kind: 'Job',
    metadata: { name: 'report', namespace, finalizers: ['x'] },
    spec,
  };
  world.kube.seed(job);
  const id = '019a0000-0000-7000-8000-0000000000a1';
  world.seedPod('api-1', 'Running', { labels: podLabels({ kind: 'App', name: 'api', id }, 'serve') });
  world.seedPod('old', 'Succeeded');
  await world.kube.delete(ref);
  await world.reconcile();
  await world.reconcile();
  const message = 'The volume is mounted by the app "api" and the job "report"; it is deleted when nothing mounts it.';
  t.match(world.volume()?.status, { phase: 'deleting', message });
  t.same(world.events, [`VolumeInUse: ${message}`], 'reported once');
  t.ok(world.claim());

  await world.kube.delete({ apiVersion: 'platform.svc/v1', kind: 'Job', namespace, name: 'report' });
  await world.reconcile();
  t.match(world.volume()?.status?.message, /mounted by the app "api";/, 'a job that is being deleted does not count');
  await world.kube.delete({ apiVersion: 'v1', kind: 'Pod', namespace, name: 'api-1' });
  await world.reconcile();
  t.notOk(world.claim());
  t.notOk(world.volume());
});

t.test('a workload that stops using a volume queues the objects that wait for it', (t) => {
  const { controller } = createWorld();
  const at = (name: string, deleting: boolean): Stored<KubeObject> => ({
    apiVersion: 'platform.svc/v1',
    kind: 'Volume',
    metadata: {
      name,
      namespace,
      uid: '',
      resourceVersion: '',
      ...(deleting && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
  });
  const changed = at('any', false);
  const keys = (controller.watches ?? []).map((watch) => [
    watch.kind.kind,
    watch
      .keysOf(changed, () => [at('going', true), { ...at('staying', false), status: { phase: 'waiting' } }])
      .map(({ name }) => name),
  ]);
  t.same(keys, [
    ['Pod', ['going']],
    ['App', ['going']],
    ['Function', ['going']],
    ['Job', ['going']],
    ['Service', ['going']],
    ['StorageClass', ['staying']],
  ]);
  t.end();
});
