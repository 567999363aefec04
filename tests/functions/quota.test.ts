import pg from 'pg';
import t from 'tap';
import { createAppRoutes } from '../../functions/apps/handler.ts';
import { createFunctionRoutes } from '../../functions/functions/handler.ts';
import { createJobRoutes } from '../../functions/jobs/handler.ts';
import { createServiceRoutes } from '../../functions/services/handler.ts';
import { createVolumeRoutes } from '../../functions/volumes/handler.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import type { PlatformConfig } from '../../runtime/contracts/resources/platform-config.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../runtime/contracts/resources/volume.ts';
import { testApi } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { fakeKube } from '../support/fake-kube.ts';
import { allProjects, seedShop } from '../support/objects.ts';
import { testDatabase } from '../support/postgres.ts';

/** The environment `prod`, whose pods may use 1 GiB of memory in all, and of which there may be three. */
async function smallEnvironment(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const limit = async (limits: object) => {
    const [project] = kube.all<Project>(kinds.Project);
    if (!project) throw new Error('a project');
    const environments = project.spec.environments.map((each) => ({ ...each, limits }));
    await kube.replace<Project>({ ...project, spec: { ...project.spec, environments } });
  };
  await limit({ memory: '1Gi', pods: 3, containerMemory: '400Mi' });
  const { pool } = await testDatabase(t);
  const dependencies = { kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' };
  const routes = [
    ...createAppRoutes(dependencies),
    ...createFunctionRoutes({ ...dependencies, pool: new pg.Pool(), visibleProjects: allProjects(kube) }),
    ...createJobRoutes(dependencies),
    ...createServiceRoutes(dependencies),
    ...createVolumeRoutes(dependencies),
  ];
  const api = await testApi(t, { routes });
  const call = (method: string, path: string, body: object) =>
    api.call(method, `/api/v1/projects/shop/${path}`, { body });
  return { kube, call, limit };
}

const image = 'registry.test/shop/api:1';
const source = { runtime: 'node', code: 'export const handler = () => 1;' };

t.test('422: pods that the environment never has room for, when the command is given', async (t) => {
  const { kube, call } = await smallEnvironment(t);
  for (const [path, body, message] of [
    [
      'apps',
      { image, memory: '2Gi' },
      /^A pod with 2Gi of memory does not fit .*"prod", whose pods may use 1Gi in all\./,
    ],
    ['apps', { image, memory: '512Mi', replicas: 3 }, /^3 pods with 512Mi of memory each do not fit/],
    ['apps', { image, replicas: 3 }, /^3 pods with 400Mi of memory each/],
    ['apps', { image, memory: '8Mi', replicas: 4 }, /^4 pods are more than the 3 of the environment "prod"\./],
    ['functions', { ...source, memory: '2Gi' }, /^A pod with 2Gi/],
    ['functions', { ...source, memory: '512Mi', minReplicas: 3 }, /^3 pods with 512Mi/],
    ['jobs', { image, memory: '2Gi' }, /^A pod with 2Gi/],
  ] as const) {
    const answer = await call('POST', path, { name: 'big', ...body });
    t.match(answer, { status: 422, body: { code: 'invalid_value', message } }, JSON.stringify(body));
    t.match(answer.body, { message: /svc environment update/ });
  }
  for (const kind of [kinds.App, kinds.Function, kinds.Job]) t.same(kube.all(kind), []);
});

t.test('a change that the environment has no room for is refused, and every other one is not', async (t) => {
  const { call, limit } = await smallEnvironment(t);
  const responses = [
    ['apps', { name: 'api', image, memory: '512Mi', replicas: 2 }],
    ['functions', { name: 'hello', ...source, memory: '512Mi', minReplicas: 2 }],
    ['jobs', { name: 'report', image, memory: '512Mi' }],
  ] as const;
  for (const [path, body] of responses) t.equal((await call('POST', path, body)).status, 201, path);
  t.equal((await call('PATCH', 'apps/api', { replicas: 3 })).status, 422, 'more pods of the same memory');
  t.equal((await call('PATCH', 'apps/api', { memory: null, replicas: 3 })).status, 422, 'of the default memory');
  t.equal((await call('PATCH', 'apps/api', { memory: '128Mi', replicas: 3 })).status, 200);
  t.equal((await call('PATCH', 'functions/hello', { memory: '600Mi' })).status, 422);
  t.equal((await call('PATCH', 'jobs/report', { memory: '2Gi' })).status, 422);
  await limit({ memory: '64Mi' });
  t.equal((await call('PATCH', 'apps/api', { autoRollback: false })).status, 200);
  t.equal((await call('PATCH', 'apps/api', { replicas: 0 })).status, 200, 'an app that is stopped needs no room');
  t.equal((await call('PATCH', 'functions/hello', { code: 'export const handler = () => 2;' })).status, 200);
  t.equal((await call('PATCH', 'jobs/report', { command: ['true'] })).status, 200);
});

t.test('storage that the environment never has room for is refused when the command is given', async (t) => {
  const { kube, call, limit } = await smallEnvironment(t);
  await limit({ storage: '2Gi' });
  const annotations = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'local', annotations },
  };
  kube.seed({ ...storageClass, allowVolumeExpansion: true } as KubeObject);
  const [config] = kube.all<PlatformConfig>(kinds.PlatformConfig);
  if (!config) throw new Error('a configuration');
  await kube.replace({ ...config, spec: { ...config.spec, serviceImages: { redis: 'registry.test/redis:1' } } });
  for (const [path, body] of [
    ['volumes', { size: '3Gi' }],
    ['services', { type: 'redis', size: '99999Ti' }],
  ] as const) {
    const message = new RegExp(
      `^${body.size} of storage do not fit into the environment "prod", which may have 2Gi in all\\. .*svc environment update`,
    );
    const answer = await call('POST', path, { name: 'big', ...body });
    t.match(answer, { status: 422, body: { code: 'invalid_value', message, details: { field: 'size' } } }, path);
    t.equal((await call('POST', path, { name: 'fits', ...body, size: '2Gi' })).status, 201);
  }
  const [volume] = kube.all<Volume>(kinds.Volume);
  const status = { phase: 'ready', capacity: '2Gi', storageClass: 'local' };
  await kube.replaceStatus({ ...volume, status } as Stored<Volume>);
  t.match(await call('PATCH', 'volumes/fits', { size: '3Gi' }), { status: 422, body: { details: { field: 'size' } } });
  t.equal((await call('PATCH', 'volumes/fits', { size: '2Gi' })).status, 200);
});
