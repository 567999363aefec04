import t, { type Test } from 'tap';
import { createJobRoutes } from '../../../functions/jobs/handler.ts';
import { createServiceRoutes } from '../../../functions/services/handler.ts';
import type { BindingStatus } from '../../../runtime/contracts/resources/binding.ts';
import type { JobResource } from '../../../runtime/contracts/resources/job.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { secretsExpectedAnnotation } from '../../../runtime/domain/labels.ts';
import { readSecrets } from '../../../runtime/workloads/secrets.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { readyProject, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const base = '/api/v1/projects/shop';
const path = `${base}/jobs/report`;
const image = 'registry.test/report:7';

async function service(t: Test) {
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  kube.seed(...readyProject('other'));
  const { pool } = await testDatabase(t);
  const log = recordingLog();
  const routes = [
    ...createJobRoutes({ kube, pool, clock: fakeClock(), baseUrl: 'http://console.test' }),
    ...createServiceRoutes({ kube }),
  ];
  const api = await testApi(t, { routes, log: log.log });
  const addService = (name: string, type: string, project = 'shop') =>
    api.call('POST', `/api/v1/projects/${project}/services`, {
      body: { name, type, external: { host: `${name}.test` } },
    });
  await addService('orders', 'postgres');
  const create = (body: object = {}) => api.call('POST', `${base}/jobs`, { body: { name: 'report', image, ...body } });
  const job = async () => {
    const object = await kube.get<JobResource>(kinds.Job, 'report', 'shop-prod');
    if (!object) throw new Error('there is no job');
    return object;
  };
  /** Does what the queue does. */
  const report = async (status: Omit<BindingStatus, 'version'>) => {
    const current = await job();
    const version = current.spec.bindings?.find(({ service }) => service === status.service)?.version ?? 0;
    await kube.replaceStatus({ ...current, status: { ...current.status, bindings: [{ ...status, version }] } });
  };
  return { kube, api, log, addService, create, job, report };
}

t.test('201: a job is created with its bindings and secrets, which its variables may refer to', async (t) => {
  const { kube, api, log, addService, create, job } = await service(t);
  await addService('cache', 'redis');
  await addService('files', 'minio');
  const env = { PORT: '80', DSN: '${DATABASE_URL}?x', KEY: '${API_KEY}', CACHE: '${REDIS_URL}', AT: '${S3_ENDPOINT}' };
  const bindings = ['orders', 'cache', 'files'].map((service) => ({ service }));
  const created = await create({ env, bindings, secrets: { API_KEY: 'hush-hush' } });
  t.match(created, { status: 201, body: { bindings: [{ service: 'cache', status: 'pending' }, {}, {}], env } });
  t.notHas((await job()).metadata.annotations, secretsExpectedAnnotation, 'the secrets are stored');
  t.type((await job()).spec.secretsRevision, 'string', 'the controller learns of it');
  t.match((await readSecrets(kube, await job())).secrets, [{ name: 'API_KEY', value: 'hush-hush' }]);
  t.notMatch(JSON.stringify([created.body, kube.all(kinds.Job), log.text()]), /hush-hush/);
  const variables = Object.fromEntries(
    (await api.call('GET', `${path}/bindings`)).body.items.map((item: { service: string; variables: string[] }) => [
      item.service,
      item.variables,
    ]),
  );
  t.match(variables, { orders: /DATABASE_URL/, cache: /REDIS_URL/, files: /S3_BUCKET/ });
});

t.test('a job is not created with bindings, secrets or variables that cannot be', async (t) => {
  const { kube, create } = await service(t);
  const refusals: [object, number, string, RegExp][] = [
    [{ bindings: [{ service: 'nobody' }] }, 404, 'not_found', /no service "nobody"/],
    [{ bindings: [{ service: 'orders' }, { service: 'orders' }] }, 422, 'invalid_value', /named twice/],
    [{ bindings: [{ service: 'orders', prefix: '1' }] }, 422, 'invalid_value', /not a valid prefix/],
    [{ secrets: { '1A': 'x' } }, 422, 'invalid_value', /not a valid variable name/],
    [{ secrets: { A: 'x' }, env: { A: 'y' } }, 409, 'already_exists', /both a variable and a secret/],
    [{ env: { A: '${NONE}' } }, 422, 'invalid_value', /"NONE", which is not set/],
  ];
  for (const [more, status, code, message] of refusals) {
    t.match(await create(more), { status, body: { code, message } }, JSON.stringify(more));
  }
  t.same(kube.all(kinds.Job), [], 'nothing is left behind');
});

t.test('a run waits for a binding that is being created, and is refused while one has failed', async (t) => {
  const { api, create, report } = await service(t);
  await create({ bindings: [{ service: 'orders' }] });
  t.match(await api.call('POST', `${path}/runs`), { status: 202 });
  const message = 'Waiting for the binding to "orders".';
  t.match((await api.call('GET', `${path}/runs`)).body, { items: [{ status: 'pending', message }] });
  await report({ service: 'orders', phase: 'failed', message: 'The server refuses.' });
  t.match(await api.call('POST', `${path}/runs`), {
    status: 409,
    body: {
      code: 'not_ready',
      message:
        'The job "report" cannot run. The binding to "orders" failed: The server refuses. See `svc job bindings report`.',
    },
  });
  await report({ service: 'orders', phase: 'ready', database: 'orders_report_prod' });
  t.match(await api.call('POST', `${path}/runs`), { status: 202 });
  t.match((await api.call('GET', path)).body, { bindings: [{ service: 'orders', status: 'ready' }] });
  t.notOk((await api.call('GET', `${path}/runs`)).body.items[0].message);
});

t.test('a job is bound, bound again and unbound; its service cannot be deleted meanwhile', async (t) => {
  const { api, create, job } = await service(t);
  await create();
  const bind = (name: string, body: object = {}) => api.call('PUT', `${path}/bindings/${name}`, { body });
  const first = await bind('orders', { prefix: 'SHOP_' });
  t.match(first, { status: 202, body: { status: 'pending', renewed: false, variables: /SHOP_URL/ } });
  t.equal(first.body.statusUrl, `http://console.test${path}/bindings/orders?environment=prod`);
  t.match((await bind('orders')).body, { renewed: true, prefix: 'SHOP_' });
  t.match(await api.call('DELETE', `${base}/services/orders`), {
    status: 409,
    body: { code: 'in_use', message: /used by the job report.*svc job unbind/, details: { jobs: ['report'] } },
  });
  t.equal((await api.call('DELETE', `${path}/bindings/orders`)).status, 204);
  t.notOk((await job()).spec.bindings);
  t.match((await bind('orders', { database: 'template1' })).status, 422);
});

t.test('variables are set one by one or replaced, and secrets are kept apart', async (t) => {
  const { api, create, job } = await service(t);
  await create({ env: { A: '1' } });
  const before = (await job()).spec.secretsRevision;
  const set = (name: string, value: string) => api.call('PUT', `${path}/secrets/${name}`, { body: { value } });
  t.match(await set('TOKEN', 'one'), { status: 200, body: { hasPrevious: false } });
  const revision = (await job()).spec.secretsRevision;
  t.not(revision, before, 'the controller learns of every change');
  const patch = (body: object) => api.call('PATCH', `${path}/env`, { body });
  t.match((await patch({ B: '${A} ${TOKEN}' })).body, {
    variables: { A: '1', B: '${A} ${TOKEN}' },
    pendingRestart: false,
  });
  t.match(await patch({ TOKEN: 'x' }), { status: 409, body: { message: /The job "report" has a secret "TOKEN"/ } });
  t.match(await api.call('DELETE', `${path}/secrets/TOKEN`), { status: 409, body: { code: 'in_use' } });
  t.same((await api.call('PATCH', path, { body: { env: { C: '${TOKEN}' } } })).body.env, { C: '${TOKEN}' });
  t.match(await api.call('PATCH', path, { body: { env: { C: '${NONE}' } } }), { status: 422 });
  t.same((await api.call('PATCH', path, { body: { env: null } })).body.env, {});
  await set('TOKEN', 'two');
  t.match((await api.call('GET', `${path}/secrets`)).body.items, [{ name: 'TOKEN', hasPrevious: true }]);
  t.equal((await api.call('GET', `${path}/secrets/TOKEN`)).body.value, 'two');
  t.match(await api.call('POST', `${path}/secrets/TOKEN/restore`), { status: 200 });
  t.equal((await api.call('GET', `${path}/secrets/TOKEN`)).body.value, 'one');
  t.equal((await api.call('DELETE', `${path}/secrets/TOKEN`)).status, 204);
});
