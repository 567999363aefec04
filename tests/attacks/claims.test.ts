import t, { type Test } from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createJobRoutes } from '../../functions/jobs/handler.ts';
import { createVolumeRoutes } from '../../functions/volumes/handler.ts';
import type { KubeObject, OwnerReference } from '../../runtime/contracts/kubernetes.ts';
import { jobSpec } from '../../runtime/contracts/resources/job.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { managedLabels } from '../../runtime/domain/labels.ts';
import { testApi } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { allProjects, seedShop } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';
import { editedCluster, refused } from './edited-objects.ts';

const apiVersion = 'platform.svc/v1';
const place = (name: string) => ({ name, namespace: 'shop-prod' });
const volume = (name: string): KubeObject => ({
  apiVersion,
  kind: 'Volume',
  metadata: place(name),
  spec: { size: '1Gi', accessMode: 'ReadWriteOnce' },
});
const claim = (name: string, labels: Record<string, string> = {}, owners: OwnerReference[] = []): KubeObject => ({
  apiVersion: 'v1',
  kind: 'PersistentVolumeClaim',
  metadata: { ...place(name), labels: { ...managedLabels(), ...labels }, ownerReferences: owners },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const kindOf = (kind: string) => ({ 'platform.svc/kind': kind });
const owner = (kind: string, uid: string): OwnerReference => ({ apiVersion, kind, name: 'x', uid, controller: true });

/** Claims that are not a volume's, by their names: of a service, of a function's packages, and others. */
const others = [
  claim('data-db-0', kindOf('Service')),
  claim('function-hello-dependencies-0123456789ab', kindOf('Function'), [owner('Function', 'f')]),
  claim('plain'),
  claim('other-kind', kindOf('Volume'), [owner('Function', 'f')]),
  claim('former-volume', kindOf('Volume'), [owner('Volume', 'of-a-deleted-volume')]),
];
const names = others.map(({ metadata }) => metadata.name);

async function api(t: Test) {
  const kube = fakeKube();
  seedShop(kube);
  kube.seed({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local', annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' } },
  });
  const { pool } = await testDatabase(t);
  const clock = fakeClock();
  const baseUrl = 'http://console.test';
  const server = await testApi(t, {
    routes: [
      ...createAppRoutes({ kube, pool, clock, baseUrl }),
      ...createFunctionRoutes({ kube, pool, clock, baseUrl, visibleProjects: allProjects(kube) }),
      ...createJobRoutes({ kube, pool, clock, baseUrl }),
      ...createVolumeRoutes({ kube }),
    ],
  });
  const call = (method: string, path: string, body: object) =>
    server.call(method, `/api/v1/projects/shop/${path}`, { body });
  return { kube, call };
}

t.test('422: a workload mounts no claim but that of the Volume of its name', async (t) => {
  const { kube, call } = await api(t);
  kube.seed(...others, ...names.map(volume));
  for (const kind of ['apps', 'functions', 'jobs']) {
    t.equal((await call('POST', kind, { name: `own-${kind}`, image: 'hello:1' })).status, 201);
    for (const name of names) {
      const volumes = [{ name, path: '/data' }];
      const expected = { status: 422, body: { code: 'invalid_value', details: { field: 'volumes' } } };
      t.match(await call('POST', kind, { name: 'thief', image: 'hello:1', volumes }), expected, `${kind} ${name}`);
      t.match(await call('PATCH', `${kind}/own-${kind}`, { volumes }), expected, `${kind} ${name}`);
    }
  }
});

t.test('422: no volume takes the name of a claim of a service or function, existing or not', async (t) => {
  const { call } = await api(t);
  for (const name of ['data-db-0', 'data-a-b-0', 'function-hello-dependencies-0123456789ab']) {
    t.match(
      await call('POST', 'volumes', { name, size: '1Gi' }),
      { status: 422, body: { code: 'invalid_value' } },
      name,
    );
  }
  for (const name of ['data', 'data-1', 'data-db', 'data-db-1', 'function-data']) {
    t.match(await call('POST', 'volumes', { name, size: '1Gi' }), { status: 201 }, name);
    const volumes = [{ name, path: '/data' }];
    t.match(await call('POST', 'jobs', { name: `with-${name}`, image: 'hello:1', volumes }), { status: 201 }, name);
  }
});

t.test('an object that is written with kubectl does not mount another claim', async (t) => {
  for (const withVolume of [false, true]) {
    for (const name of names) {
      const volumes = [{ name, path: '/data' }];
      const release = { generation: 1, deploymentId: newId(), image: 'hello:1' };
      const image = 'hello:1';
      const { kube, statusOf } = await editedCluster(
        t,
        {},
        ...others,
        ...(withVolume ? names.map(volume) : []),
        { apiVersion, kind: 'App', metadata: place('app'), spec: { image, port: 8080, replicas: 1, release, volumes } },
        {
          apiVersion,
          kind: 'Function',
          metadata: place('fn'),
          spec: { trigger: 'http', port: 8080, idleTimeoutSeconds: 300, image, volumes },
        },
        {
          apiVersion,
          kind: 'Job',
          metadata: place('job'),
          spec: jobSpec.parse({ image, volumes, schedule: '0 2 * * *' }),
        },
      );
      const problem = refused('ChildReconcileFailed', /is not the storage of a volume/);
      t.match(statusOf(kinds.App, 'app'), problem, `App ${name}`);
      t.match(statusOf(kinds.Function, 'fn'), problem, `Function ${name}`);
      t.match(statusOf(kinds.Job, 'job'), problem, `Job ${name}`);
      for (const kind of [kinds.Deployment, kinds.CronJob, kinds.BatchJob]) t.same(kube.all(kind), [], name);
    }
  }
});

t.test('a Volume that is written with kubectl prepares no claim for a later service', async (t) => {
  const { kube, statusOf } = await editedCluster(t, {}, volume('data-db-0'), volume('cache'));
  t.match(statusOf(kinds.Volume, 'data-db-0'), refused('ChildReconcileFailed', /is reserved/));
  t.same(
    kube.all(kinds.PersistentVolumeClaim).map(({ metadata }) => metadata.name),
    ['cache'],
  );
});
