import t from 'tap';
import { createAppRoutes } from '../../../functions/apps/handler.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { acceptDeployment } from '../../../runtime/records/acceptance.ts';
import { endDeployment } from '../../../runtime/records/deployments.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { environmentId, readyProject, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/projects/shop/apps';
const image = 'registry.test/shop/api:v1';

async function service(t: { teardown(end: () => unknown): void }, log = silentLog) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const { pool } = await testDatabase(t);
  const routes = createAppRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' });
  const api = await testApi(t, { routes, log });
  const create = (body: object = {}, at = path) => api.call('POST', at, { body: { name: 'api', image, ...body } });
  const status = (patch: object) =>
    kube.mergePatch(
      { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' },
      { status: patch },
      'status',
    );
  /** Objects that are not being deleted: a deleted app waits for its controller, which this test does not run. */
  const living = () => kube.all<App>(kinds.App).filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  return { kube, pool, api, create, status, living };
}

t.test('201: the object with its labels and finalizer, its name and its host', async (t) => {
  const { kube, create } = await service(t);
  const answer = await create({ port: 9000, replicas: 2, healthPath: '/healthz' });
  t.equal(answer.status, 201);
  t.match(answer.body, {
    id: /^[0-9a-f-]{36}$/,
    name: 'api',
    project: 'shop',
    environment: 'prod',
    image,
    port: 9000,
    replicas: 2,
    readyReplicas: 0,
    status: 'pending',
    url: 'http://api--shop-prod.apps.test',
    gate: 'off',
  });
  const [app] = kube.all<App>(kinds.App);
  t.match(app, {
    metadata: {
      namespace: 'shop-prod',
      finalizers: ['platform.svc/records'],
      annotations: { 'platform.svc/created-by': /@/ },
      labels: {
        'app.kubernetes.io/managed-by': 'kipper',
        'platform.svc/id': answer.body.id,
        'platform.svc/kind': 'App',
        'platform.svc/project': 'shop',
        'platform.svc/environment': 'prod',
        'platform.svc/environment-id': environmentId,
        app: 'api',
      },
    },
  });
  t.same(app?.spec, { image, port: 9000, replicas: 2, healthPath: '/healthz', security: { headers: true } });
  t.match(kube.all(kinds.WorkloadName), [
    { metadata: { name: 'api' }, spec: { kind: 'App', workloadId: answer.body.id } },
  ]);
  t.match(kube.all(kinds.HostName), [{ metadata: { name: 'api--shop-prod.apps.test' } }]);
});

t.test('422: settings that cannot run are refused, and nothing is created', async (t) => {
  const { kube, create } = await service(t);
  const invalidBodies: object[] = [
    { name: 'Api' },
    { name: 'a--b' },
    { name: 'a'.repeat(41) },
    { name: 'a; rm -rf /' },
    { image: 'registry.test/shop/api' },
    { image: '$(id):v1' },
    { hostname: 'nodots' },
    { hostname: `${'a'.repeat(64)}.test` },
  ];
  for (const body of invalidBodies) {
    const answer = await create(body);
    t.equal(answer.status, 422, JSON.stringify(body));
    t.type(answer.body.details.field, 'string');
  }
  t.equal((await create({ port: 0 })).status, 400);
  t.equal((await create({ replicas: 51 })).status, 400);
  t.equal((await create({ privileged: true })).status, 400);
  t.same(
    [kinds.App, kinds.WorkloadName, kinds.HostName].flatMap((kind) => kube.all(kind)),
    [],
  );
});

t.test('404 and 400: the environment is the named one, or the only one', async (t) => {
  const { kube, create } = await service(t);
  t.equal((await create({}, '/api/v1/projects/none/apps')).status, 404);
  t.equal((await create({}, `${path}?environment=test`)).status, 404);
  kube.seed(...readyProject('blog', ['prod', 'test']));
  const answer = await create({}, '/api/v1/projects/blog/apps');
  t.equal(answer.status, 400);
  t.match(answer.body, { code: 'environment_required', details: { environments: ['prod', 'test'] } });
  t.equal((await create({}, '/api/v1/projects/blog/apps?environment=test')).status, 201);
});

t.test('409: the kind that holds the name is reported; nothing stays behind', async (t) => {
  const { kube, create, living } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'WorkloadName',
    metadata: { name: 'api', namespace: 'shop-prod' },
    spec: { kind: 'Function', workloadId: '019a0000-0000-7000-8000-0000000000f1' },
  });
  const byFunction = await create();
  t.equal(byFunction.status, 409);
  t.match(byFunction.body, { code: 'name_taken', message: /already used by a function in this environment/ });
  t.same(living(), []);
  t.same(kube.all(kinds.HostName), []);
  t.equal((await create({ name: 'web' })).status, 201);
  t.match((await create({ name: 'web' })).body, { code: 'name_taken', details: { kind: 'App' } });
});

t.test('409: the holder of the host is reported; nothing stays behind', async (t) => {
  const { create, living } = await service(t);
  await create({ name: 'first', hostname: 'api.example.test' });
  const answer = await create({ hostname: 'api.example.test' });
  t.equal(answer.status, 409);
  t.match(answer.body, {
    code: 'host_taken',
    details: { holder: { kind: 'App', namespace: 'shop-prod', name: 'first' } },
  });
  t.match((await create({ hostname: 'console.apps.test' })).body, { code: 'host_taken' });
  t.same(
    living().map(({ metadata }) => metadata.name),
    ['first'],
  );
});

t.test('exactly one of many concurrent creates of one name succeeds', async (t) => {
  const { kube, create } = await service(t);
  const answers = await Promise.all(Array.from({ length: 8 }, () => create()));
  t.same(answers.map(({ status }) => String(status)).sort(), ['201', ...Array.from({ length: 7 }, () => '409')]);
  t.equal(kube.all(kinds.App).length, 1);
  t.match(kube.all(kinds.WorkloadName), [{ spec: { workloadId: answers.find((a) => a.status === 201)?.body.id } }]);
});

t.test('a create that fails half-way leaves nothing', async (t) => {
  const { kube, create, living } = await service(t);
  kube.intercept = ({ verb, kind }) => {
    if (verb === 'create' && kind === 'HostName') throw new KubeError(503, 'ServiceUnavailable', 'no leader');
  };
  t.equal((await create()).status, 503);
  t.same(living(), []);
});

t.test('409: an environment that is not ready, or is being deleted', async (t) => {
  const { kube, create } = await service(t);
  kube.seed({
    apiVersion: 'platform.svc/v1',
    kind: 'Project',
    metadata: { name: 'new' },
    spec: { environments: [{ name: 'prod', id: '019a0000-0000-7000-8000-0000000000e9' }] },
  });
  t.match((await create({}, '/api/v1/projects/new/apps')).body, { code: 'not_ready' });
  await kube.delete({ apiVersion: 'v1', kind: 'Namespace', name: 'shop-prod' });
  t.match((await create()).body, { code: 'not_ready' });
});

t.test('200: the status that the controller reports is shown; lists have pages', async (t) => {
  const { api, create, status } = await service(t);
  await create();
  await create({ name: 'web' });
  await status({ phase: 'running', url: 'http://api--shop-prod.apps.test', readyReplicas: 1, replicas: 1 });
  const { body } = await api.call('GET', `${path}/api`);
  t.match(body, { status: 'running', readyReplicas: 1, url: 'http://api--shop-prod.apps.test' });
  const first = await api.call('GET', `${path}?limit=1`);
  t.match(first.body, { items: [{ name: 'api' }], nextCursor: 'api' });
  const second = await api.call('GET', `${path}?limit=1&cursor=api`);
  t.same(
    second.body.items.map((item: { name: string }) => item.name),
    ['web'],
  );
  t.notHas(second.body, 'nextCursor');
  t.equal((await api.call('GET', `${path}/none`)).status, 404);
});

t.test('202: a new image is a deployment; other changes apply at once', async (t) => {
  const { kube, pool, api, create } = await service(t);
  const { id } = (await create()).body;
  const patch = (body: object) => api.call('PATCH', `${path}/api`, { body });
  const body = { image: 'registry.test/shop/api:v2', commit: 'abc', replicas: 3 };
  t.match((await patch({ image })).body, { code: 'not_ready' }, 'before the controller has seen the app');
  await projectWorkload(pool, {
    id,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const answer = await patch(body);
  t.equal(answer.status, 202);
  const { rows } = await pool.query('SELECT * FROM deployments');
  t.match(rows, [
    {
      workload_id: id,
      trigger: 'manual',
      state: 'accepted',
      revision: 1,
      image: body.image,
      actor: 'admin@svc.local',
      commit: 'abc',
    },
  ]);
  const statusUrl = `http://console.test/api/v1/projects/shop/deployments/${rows[0].id}`;
  t.same(answer.body, { id: rows[0].id, revision: 1, status: 'accepted', statusUrl });
  t.equal(answer.headers.get('location'), statusUrl);
  t.match(kube.all<App>(kinds.App)[0]?.spec, { image, replicas: 3 }, 'only a rollout writes the image');
  const scaled = await patch({ replicas: 4 });
  t.equal(scaled.status, 200);
  t.equal(scaled.body.replicas, 4);
  t.equal((await patch({})).status, 400);
  t.equal((await patch({ commit: 'abc' })).status, 400);
  t.equal((await patch({ image: 'no-tag' })).status, 422);
  t.equal((await pool.query('SELECT 1 FROM deployments')).rowCount, 1);
});

t.test('an app without a running release shows why its last deployment failed', async (t) => {
  const { pool, api, create, status } = await service(t);
  const { id } = (await create()).body;
  await projectWorkload(pool, {
    id,
    kind: 'App',
    environmentId,
    project: 'shop',
    environment: 'prod',
    namespace: 'shop-prod',
    name: 'api',
    gated: false,
  });
  const readMessage = async () => {
    const { status: phase, message } = (await api.call('GET', `${path}/api`)).body;
    const { items } = (await api.call('GET', path)).body;
    t.match(items, [{ name: 'api', status: phase, message }], 'the list shows the same');
    return phase === 'pending' && message === undefined ? undefined : `${phase}: ${message}`;
  };
  const first = await acceptDeployment(pool, { workloadId: id, trigger: 'git' });
  t.equal(await readMessage(), undefined, 'while it is in progress');
  await endDeployment(pool, first.id, 'failed', 'The image could not be built: step 3/6 ended with 1.\nIts log:\nno');
  await acceptDeployment(pool, { skipped: true, workloadId: id, trigger: 'webhook', reason: 'A tag.' });
  t.equal(
    await readMessage(),
    'failed: Nothing is running, because revision 1 failed: The image could not be built: step 3/6 ended with 1.',
  );
  const second = await acceptDeployment(pool, { workloadId: id, trigger: 'git' });
  t.equal(await readMessage(), undefined, 'while the next one is in progress');
  await endDeployment(pool, second.id, 'cancelled', 'Cancelled by a@b.c.');
  t.equal(await readMessage(), 'pending: Nothing is running, because revision 2 was cancelled: Cancelled by a@b.c.');
  await status({ message: 'The controller knows better.' });
  t.equal(await readMessage(), 'pending: The controller knows better.');
});

t.test('the gate shows as applying until the route is protected, and as lifting until it is open', async (t) => {
  const { api, create, status } = await service(t);
  await create();
  const gate = async () => (await api.call('GET', `${path}/api/gate`)).body;
  const put = async (enabled: boolean) => (await api.call('PUT', `${path}/api/gate`, { body: { enabled } })).body;
  const since = '2026-01-01T00:00:00.000Z';
  const observe = (phase: string, message: string) => {
    const condition = { type: 'Gated', status: 'Unknown', reason: 'Any', message, lastTransitionTime: since };
    return status({ gate: phase, gateSince: since, conditions: [condition] });
  };
  t.same(await gate(), { gate: 'off' });
  t.same(await put(true), { gate: 'applying' }, 'the controller has not seen it yet');
  t.equal((await api.call('GET', `${path}/api`)).body.gate, 'applying');
  await observe('applying', 'Not yet.');
  t.same(await gate(), { gate: 'applying', since, message: 'Not yet.' });
  await observe('gated', 'It refuses.');
  t.same(await gate(), { gate: 'gated', since, message: 'It refuses.' });
  t.same(await put(false), { gate: 'lifting' }, 'the report is about the previous setting');
  await observe('lifting', 'Still refuses.');
  t.same(await gate(), { gate: 'lifting', since, message: 'Still refuses.' });
  t.same(await put(true), { gate: 'applying' }, 'a setting that changes while it is in progress');
  await put(false);
  await observe('off', 'Open.');
  t.same(await gate(), { gate: 'off', since, message: 'Open.' });
  t.equal((await api.call('PUT', `${path}/none/gate`, { body: { enabled: true } })).status, 404);
  t.equal((await api.call('PUT', `${path}/api/gate`, { body: {} })).status, 400);
});

t.test('the user who switches a gate is recorded, once', async (t) => {
  const recorded = recordingLog();
  const { api, create } = await service(t, recorded.log);
  const { id } = (await create()).body;
  const put = (enabled: boolean) => api.call('PUT', `${path}/api/gate`, { body: { enabled } });
  for (const enabled of [false, true, true, false]) await put(enabled);
  const subject = { actor: 'admin@svc.local', project: 'shop', environment: 'prod', app: { id, name: 'api' } };
  t.match(
    recorded.entries.filter(({ msg }) => msg === 'apikey audit'),
    [
      { action: 'gate.enable', ...subject },
      { action: 'gate.disable', ...subject },
    ],
  );
  t.equal(recorded.entries.filter(({ msg }) => msg === 'apikey audit').length, 2);
});

t.test('202 and 204: a deleted app shows `deleting` until its controller has finished', async (t) => {
  const { kube, api, create } = await service(t);
  await create();
  const answer = await api.call('DELETE', `${path}/api`);
  t.equal(answer.status, 202);
  t.equal(answer.body.status, 'deleting');
  t.equal((await api.call('GET', `${path}/api`)).body.status, 'deleting');
  t.equal((await api.call('DELETE', `${path}/api`)).status, 202);
  t.match((await create()).body, { code: 'not_ready' });
  t.match((await api.call('PATCH', `${path}/api`, { body: { replicas: 2 } })).body, { code: 'not_ready' });
  await kube.mergePatch(
    { apiVersion: 'platform.svc/v1', kind: 'App', namespace: 'shop-prod', name: 'api' },
    { metadata: { finalizers: null } },
  );
  t.equal((await api.call('DELETE', `${path}/api`)).status, 404);
});
