import t from 'tap';
import { createVolumeRoutes } from '../../../functions/volumes/handler.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../../runtime/contracts/resources/volume.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';

const path = '/api/v1/projects/shop/volumes';

function storageClass(name: string, more: object = {}): KubeObject {
  return { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', metadata: { name }, ...more };
}

async function service(t: { teardown(end: () => unknown): void }, { withDefault = true } = {}) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const annotations = { 'storageclass.kubernetes.io/is-default-class': String(withDefault) };
  kube.seed(
    storageClass('local', { metadata: { name: 'local', annotations } }),
    storageClass('fast', { allowVolumeExpansion: true }),
  );
  const api = await testApi(t, { routes: createVolumeRoutes({ kube }) });
  const create = (body: object = {}) => api.call('POST', path, { body: { name: 'data', size: '1Gi', ...body } });
  const resize = (size: string) => api.call('PATCH', `${path}/data`, { body: { size } });
  /** The controller's report once the volume has its storage. */
  const bind = async (className: string) => {
    const [volume] = kube.all<Volume>(kinds.Volume);
    const status = { phase: 'ready', capacity: volume?.spec.size, storageClass: className };
    await kube.replaceStatus({ ...volume, status } as Stored<Volume>);
  };
  const seedJob = (volumes: object[]) =>
    kube.seed({
      apiVersion: 'platform.svc/v1',
      kind: 'Job',
      metadata: { name: 'report', namespace: 'shop-prod' },
      spec: { image: 'x', volumes },
    });
  return { kube, api, create, resize, bind, seedJob };
}

t.test('201: the object with its defaults and identity', async (t) => {
  const { kube, create } = await service(t);
  const answer = await create();
  t.equal(answer.status, 201);
  t.match(answer.body, {
    name: 'data',
    project: 'shop',
    environment: 'prod',
    size: '1Gi',
    accessMode: 'ReadWriteOnce',
    isDefaultStorageClass: true,
    status: 'pending',
    mountedBy: [],
  });
  t.match(kube.all(kinds.Volume), [
    {
      metadata: { labels: { 'platform.svc/id': answer.body.id, 'platform.svc/project': 'shop' }, finalizers: [String] },
      spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
    },
  ]);
  t.match(await create(), { status: 409, body: { code: 'already_exists' } });
});

t.test('400 and 422: settings that get no storage', async (t) => {
  const { kube, create } = await service(t, { withDefault: false });
  for (const [body, status, message] of [
    [{ name: 'My Data' }, 422, /valid name/],
    [{ size: 'big' }, 422, /valid size/],
    [{ size: '1Ki' }, 422, /at least 1Mi/],
    [{}, 422, /no default storage class\. Its storage classes: fast, local/],
    [{ storageClass: 'slow' }, 422, /no storage class "slow"\. Its storage classes: fast, local/],
    [{ accessMode: 'Any' }, 400, /accessMode/],
  ] as const) {
    const answer = await create(body);
    t.equal(answer.status, status, JSON.stringify(body));
    t.match(answer.body.message, message);
  }
  t.same(kube.all(kinds.Volume), []);
  t.equal((await create({ storageClass: 'fast' })).status, 201);
});

t.test('a volume can only grow', async (t) => {
  const { kube, create, resize, bind } = await service(t);
  await create({ storageClass: 'fast' });
  t.match(await resize('2Gi'), { status: 409, body: { code: 'not_ready', message: /no storage yet/ } });
  await bind('fast');
  t.match(await resize('512Mi'), { status: 422, body: { message: /has 1Gi and cannot shrink/ } });
  const chosen = { storageClass: 'fast', isDefaultStorageClass: false };
  t.match(await resize('2Gi'), { status: 200, body: { size: '2Gi', capacity: '1Gi', ...chosen } });
  t.match(kube.all(kinds.Volume), [{ spec: { size: '2Gi', storageClass: 'fast' } }]);
  const before = kube.calls.filter(({ verb }) => verb === 'replace').length;
  t.match(await resize('2048Mi'), { status: 200, body: { size: '2Gi' } });
  t.equal(kube.calls.filter(({ verb }) => verb === 'replace').length, before, 'the same size is no change');
});

t.test('409: a class that cannot expand is named', async (t) => {
  const { create, resize, bind } = await service(t);
  await create();
  await bind('local');
  t.match(await resize('2Gi'), {
    status: 409,
    body: { code: 'volume_not_expandable', message: /class "local" cannot expand volumes. Create a larger volume/ },
  });
});

t.test('409: a mounted volume is not deleted, and the answer names the workloads', async (t) => {
  const { kube, api, create, seedJob } = await service(t);
  await create();
  seedJob([{ name: 'data', path: '/data' }]);
  kube.seed({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'debug', namespace: 'shop-prod' },
    spec: { containers: [], volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] },
  });
  const users = [
    { kind: 'Pod', name: 'debug' },
    { kind: 'Job', name: 'report' },
  ];
  t.same((await api.call('GET', `${path}/data`)).body.mountedBy, users);
  t.same((await api.call('GET', path)).body.items[0].mountedBy, users);
  t.match(await api.call('DELETE', `${path}/data`), {
    status: 409,
    body: {
      code: 'in_use',
      message: /mounted by the pod "debug" and the job "report"\. Unmount it first/,
      details: { mountedBy: users },
    },
  });
  t.notOk(kube.all(kinds.Volume)[0]?.metadata.deletionTimestamp);
});

t.test('202: a deleted volume shows `deleting` until its controller has finished', async (t) => {
  const { api, create, seedJob, resize } = await service(t);
  await create();
  seedJob([]);
  t.match(await api.call('DELETE', `${path}/data`), { status: 202, body: { status: 'deleting' } });
  t.match(await resize('2Gi'), { status: 409, body: { code: 'not_ready' } });
  t.match(await create(), { status: 409, body: { code: 'not_ready' } });
  t.equal((await api.call('DELETE', `${path}/none`)).status, 404);
});
