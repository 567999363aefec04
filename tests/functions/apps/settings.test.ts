import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Volume } from '../../../runtime/contracts/resources/volume.ts';
import { volumeUsers } from '../../../runtime/kube/volume-users.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const apps = '/api/v1/projects/shop/apps';
const path = `${apps}/api`;
const image = 'registry.test/shop/api:v1';
const namespace = 'shop-prod';

async function service(t: { teardown(end: () => unknown): void }) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const log = recordingLog();
  const routes = createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, log: log.log });
  for (const accessMode of ['ReadWriteOnce', 'ReadWriteMany'] as const) {
    const name = accessMode === 'ReadWriteOnce' ? 'single' : 'shared';
    const { apiVersion, kind } = { apiVersion: 'platform.svc/v1', kind: 'Volume' } as const;
    const volume: Volume = { apiVersion, kind, metadata: { name, namespace }, spec: { size: '1Gi', accessMode } };
    kube.seed(volume);
  }
  const create = (body: object = {}) => api.call('POST', apps, { body: { name: 'api', image, ...body } });
  const change = (body: object) => api.call('PATCH', path, { body });
  const spec = async () => (await kube.get<App>(kinds.App, 'api', namespace))?.spec;
  return { kube, api, log, create, change, spec };
}

t.test('201 and 200: settings are stored and shown; null removes, absent stays', async (t) => {
  const { create, change, spec, api, log } = await service(t);
  const volumes = [{ name: 'shared', path: '/data' }];
  const settings = { port: 9000, replicas: 2, healthPath: '/up', memory: '512Mi', cpu: '500m', volumes };
  t.match(await create(settings), { status: 201, body: settings });
  t.match(await spec(), settings);
  t.match((await change({ memory: '1Gi', port: 9001 })).body, { ...settings, memory: '1Gi', port: 9001 });
  const removed = await change({ memory: null, cpu: null, healthPath: null, volumes: [] });
  t.equal(removed.status, 200);
  for (const field of ['memory', 'cpu', 'healthPath']) {
    t.notOk(field in removed.body, field);
    t.notOk(field in ((await spec()) ?? {}), field);
  }
  t.match((await api.call('GET', path)).body, { port: 9001, replicas: 2, volumes: [] });
  t.match(
    log.entries.filter(({ action }) => action === 'app.update'),
    [{ settings: ['port', 'memory'], actor: 'admin@svc.local' }, {}],
  );
});

t.test('409: a setting that another request has changed since the caller saw it stays', async (t) => {
  const { create, change, spec, log } = await service(t);
  await create({ replicas: 2, memory: '512Mi' });
  const seen = { replicas: 2, memory: '512Mi', healthPath: null, volumes: [], security: { headers: true, csp: null } };
  t.match(await change({ replicas: 3, replaces: seen }), { status: 200, body: { replicas: 3 } });
  t.match(await change({ replicas: 5, memory: '1Gi', replaces: seen }), {
    status: 409,
    body: { code: 'conflict', message: /changed replicas of the app "api"/, details: { settings: ['replicas'] } },
  });
  t.match(await spec(), { replicas: 3, memory: '512Mi' });
  t.match(await change({ memory: '1Gi', replaces: { memory: '512Mi' } }), { status: 200, body: { replicas: 3 } });
  const both = [4, 5].map((replicas) => change({ replicas, replaces: { replicas: 3 } }));
  t.same(
    (await Promise.all(both)).map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
  );
  t.match(await change({ replaces: seen }), { status: 400, body: { message: /changes nothing/ } });
  t.match(await change({ replicas: 1, replaces: { image: 'x' } }), { status: 400 });
  t.same(
    log.entries.filter(({ action }) => action === 'app.update').map(({ settings }) => settings),
    [['replicas'], ['memory'], ['replicas']],
  );
});

t.test('400 and 422: settings that cannot run are refused, and nothing changes', async (t) => {
  const { create, change, spec } = await service(t);
  const invalidChanges: [object, number, RegExp][] = [
    [{ memory: 'lots' }, 422, /"lots" is not a valid memory/],
    [{ memory: '1Mi' }, 422, /at least 4Mi/],
    [{ cpu: '0' }, 422, /valid cpu/],
    [{ volumes: [{ name: 'none', path: '/data' }] }, 422, /no volume "none".*svc volume create/],
    [{ volumes: [{ name: 'single', path: 'data' }] }, 422, /not a valid mount path/],
    [{ volumes: [{ name: 'single', path: '/a/../b' }] }, 422, /not a valid mount path/],
    [{ volumes: [{ name: 'single', path: '//' }] }, 422, /not a valid mount path/],
    [{ volumes: [{ name: 'single', path: '/proc' }] }, 422, /belongs to the system/],
    [{ healthPath: '/a\r\nX-Injected: 1' }, 422, /not a valid health path/],
    [{ healthPath: '//example.com' }, 422, /not a valid health path/],
    [{ volumes: ['/data', '/data/'].map((path) => ({ name: 'single', path })) }, 422, /Two volumes/],
    [{ volumes: ['single', 'shared'].map((name) => ({ name, path: '/data' })) }, 422, /Two volumes/],
    [
      { volumes: [{ name: 'single', path: '/data' }], replicas: 2 },
      422,
      /"single" is ReadWriteOnce.*at most 1 replica/,
    ],
    [{ port: 0 }, 400, /port/],
    [{ replicas: 51 }, 400, /replicas/],
    [{ healthPath: 'up' }, 400, /healthPath/],
  ];
  for (const [body, status, message] of invalidChanges) {
    const answer = await create(body);
    t.match([answer.status, `${answer.body.message} ${JSON.stringify(answer.body.details)}`], [status, message]);
  }
  t.equal(await spec(), undefined);
  await create();
  const before = await spec();
  for (const [body, status] of invalidChanges) t.equal((await change(body)).status, status, JSON.stringify(body));
  t.same(await spec(), before);
  t.match(await change({}), { status: 400, body: { message: /changes nothing/ } });
});

t.test('422: a single-pod volume and more than one pod, in any order of changes', async (t) => {
  const { create, change, kube } = await service(t);
  const single = [{ name: 'single', path: '/data' }];
  const shared = [{ name: 'shared', path: '/data' }];
  await create({ replicas: 2 });
  t.match(await change({ volumes: single }), {
    status: 422,
    body: { details: { field: 'replicas', volume: 'single' } },
  });
  t.equal((await change({ volumes: single, replicas: 1 })).status, 200);
  t.equal((await change({ replicas: 2 })).status, 422);
  t.equal((await change({ replicas: 0 })).status, 200);
  t.equal((await change({ memory: '64Mi' })).status, 200);
  t.equal((await change({ volumes: shared, replicas: 3 })).status, 200);
  t.same((await volumeUsers(kube, namespace))('shared'), [{ kind: 'App', name: 'api' }]);
  t.same((await volumeUsers(kube, namespace))('single'), []);
});

t.test('changes that the controller has not observed do not show as running', async (t) => {
  const { create, change, kube, api } = await service(t);
  await create();
  const status = (observedGeneration: number, phase: string) =>
    kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, { status: { observedGeneration, phase } }, 'status');
  await status(1, 'running');
  t.equal((await api.call('GET', path)).body.status, 'running');
  t.equal((await change({ memory: '64Mi' })).body.status, 'deploying');
  await status(2, 'failed');
  t.equal((await api.call('GET', path)).body.status, 'failed');
  t.equal((await change({ memory: '96Mi' })).body.status, 'deploying');
});

t.test('an app that is scaled to zero is stopped', async (t) => {
  const { create, change, kube, api } = await service(t);
  await create();
  t.equal((await change({ replicas: 0 })).body.status, 'pending');
  const report = { status: { observedGeneration: 2, phase: 'running' } };
  await kube.mergePatch({ ...kinds.App, namespace, name: 'api' }, report, 'status');
  t.equal((await api.call('GET', path)).body.status, 'stopped');
  t.equal((await change({ replicas: 1 })).body.status, 'deploying');
});
