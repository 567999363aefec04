import t, { type Test } from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import { createServiceRoutes } from '../../../functions/services/handler.ts';
import type { BindingStatus } from '../../../runtime/contracts/resources/binding.ts';
import type { App } from '../../../runtime/contracts/resources/app.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { ServiceType } from '../../../runtime/contracts/resources/service.ts';
import { newId, type Id } from '../../../runtime/domain/ids.ts';
import { idLabel } from '../../../runtime/domain/labels.ts';
import { reserveDatabase } from '../../../runtime/records/bindings.ts';
import { projectWorkload } from '../../../runtime/records/workloads.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { allProjects, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const base = '/api/v1/projects/shop';
const functions = `${base}/functions`;
const namespace = 'shop-prod';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const dependencies = { clock: fakeClock(), baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const api = await testApi(t, {
    routes: [...createFunctionRoutes({ kube, pool, ...dependencies }), ...createServiceRoutes({ kube })],
  });
  for (const name of ['api', 'other']) {
    await api.call('POST', functions, { body: { name, runtime: 'node', code: 'x' } });
  }
  const addService = async (name: string, type: ServiceType) => {
    const external = { host: `${name}.example.com` };
    await api.call('POST', `${base}/services`, { body: { name, type, external } });
  };
  await addService('orders', 'postgres');
  await addService('cache', 'redis');
  const object = async (name = 'api') => {
    const current = await kube.get<FunctionResource>(kinds.Function, name, namespace);
    if (!current) throw new Error('the function is gone');
    return current;
  };
  const idOf = async (kind: typeof kinds.Function, name: string): Promise<Id> =>
    (await kube.get(kind, name, namespace))?.metadata.labels?.[idLabel] ?? '';
  const bind = (service: string, body: object = {}, name = 'api') =>
    api.call('PUT', `${functions}/${name}/bindings/${service}`, { body });
  const unbind = (service: string, query = '') => api.call('DELETE', `${functions}/api/bindings/${service}${query}`);
  /** Does what the queue does. */
  const report = async (status: Omit<BindingStatus, 'version'>) => {
    const current = await object();
    const version = current.spec.bindings?.find(({ service }) => service === status.service)?.version ?? 0;
    await kube.replaceStatus({ ...current, status: { ...current.status, bindings: [{ ...status, version }] } });
  };
  return { pool, kube, api, addService, object, idOf, bind, unbind, report };
}

t.test("202: a binding is in the function's spec, and its status can be read", async (t) => {
  const { api, kube, object, bind, report } = await world(t);
  const variables = ['DB_HOST', 'DB_PORT', 'DB_USERNAME', 'DB_PASSWORD', 'DB_NAME', 'DATABASE_URL'];
  const statusUrl = 'http://console.test/api/v1/projects/shop/functions/api/bindings/orders?environment=prod';
  const answer = await bind('orders');
  t.match(answer, {
    status: 202,
    body: { service: 'orders', type: 'postgres', status: 'pending', variables, statusUrl, renewed: false },
  });
  const before = (await object()).spec.bindings?.[0];
  t.match(before, { service: 'orders', version: Number });
  await report({ service: 'orders', phase: 'failed', message: 'The server refuses.' });
  const show = () => api.call('GET', `${functions}/api/bindings/orders`);
  t.match((await show()).body, { status: 'failed', message: 'The server refuses.' });
  const message = 'The binding to "orders" failed: The server refuses.';
  t.match((await api.call('GET', `${functions}/api`)).body, { status: 'pending', message }, 'the reason why it waits');
  await report({ service: 'orders', phase: 'ready', database: 'orders_api_prod' });
  t.match((await show()).body, { status: 'pending', message: /gets its variables/ }, 'a pod would start without them');
  const setPhase = async (phase: 'failed' | 'pending') => {
    const current = await object();
    await kube.replaceStatus({ ...current, status: { ...current.status, phase } });
  };
  await setPhase('failed');
  t.match((await show()).body, { status: 'ready' }, 'the function itself says why it does not get them');
  await setPhase('pending');
  await report({ service: 'orders', phase: 'ready', database: 'orders_api_prod', applied: true });
  t.match((await show()).body, { status: 'ready', database: 'orders_api_prod', prefix: 'DB_' });
  t.match((await api.call('GET', `${functions}/api`)).body, { bindings: [{ service: 'orders', status: 'ready' }] });

  t.match(await bind('orders', { prefix: 'ORDERS_' }), { status: 202, body: { status: 'pending', renewed: true } });
  t.match(await bind('orders'), { body: { prefix: 'ORDERS_', variables: [/^ORDERS_/] } }, 'absent fields stay');
  t.ok(((await object()).spec.bindings?.[0]?.version ?? 0) > (before?.version ?? 0) + 1, 'each has its own password');
  await bind('cache');
  const { body } = await api.call('GET', `${functions}/api/bindings`);
  t.match(body, { items: [{ service: 'cache', type: 'redis' }, { service: 'orders' }] });
});

t.test('an impossible binding is refused with the next step, and nothing is written', async (t) => {
  const { pool, kube, object, bind, addService, idOf } = await world(t);
  await bind('orders');
  await addService('stock', 'mysql');
  const before = (await object()).spec;
  for (const [service, body, status, message] of [
    ['nowhere', {}, 404, /no service "nowhere"/],
    ['stock', {}, 422, /"orders" and "stock" would both set DB_HOST.*--prefix/],
    ['stock', { prefix: 'MY-' }, 422, /"MY-" is not a valid prefix.*--prefix/],
    ['stock', { prefix: 'SVC_' }, 422, /"SVC_" is reserved.*--prefix/],
    ['stock', { prefix: '' }, 422, /"PORT" is set by the platform/],
    ['cache', { database: 'x' }, 422, /no databases to choose/],
    ['orders', { database: 'a b' }, 422, /no name of a database/],
    ['orders', { database: 'postgres' }, 422, /reserved by the server/],
    ['orders', { database: 'x'.repeat(64) }, 422, /63 at most/],
    ['orders', { unknown: 1 }, 400, /unknown/],
  ] as const) {
    const answer = await bind(service, body);
    t.equal(answer.status, status, service);
    t.match((answer.body as { message: string }).message, message);
  }
  const other = await idOf(kinds.Function, 'other');
  const place = { environmentId: newId(), project: 'shop', environment: 'prod', namespace, name: 'other' };
  await projectWorkload(pool, { id: other, ...place, kind: 'Function', gated: false });
  await reserveDatabase(pool, await idOf(kinds.ServiceResource, 'orders'), 'theirs', other);
  t.match(await bind('orders', { database: 'theirs' }), {
    status: 409,
    body: { code: 'in_use', message: /the function "other"/ },
  });
  t.same((await object()).spec, before);
  t.equal(kube.all(kinds.Secret).length, 0);
});

t.test('unbinding: the binding is removed at once, its database only on request', async (t) => {
  const { pool, object, bind, unbind, report, idOf, api } = await world(t);
  t.match(await unbind('orders'), { status: 404, body: { message: /svc function bind/ } });
  await bind('orders');
  t.equal((await unbind('orders')).status, 204);
  t.equal((await object()).spec.bindings, undefined);
  await bind('orders');
  await report({ service: 'orders', phase: 'ready', database: 'orders_api_prod' });
  t.match(await unbind('orders', '?dropDatabase=true'), { status: 409, body: { code: 'conflict' } });
  const service = await idOf(kinds.ServiceResource, 'orders');
  await reserveDatabase(pool, service, 'orders_api_prod', await idOf(kinds.Function, 'api'));
  t.match(await unbind('orders', '?dropDatabase=true'), { status: 202, body: { status: 'deleting', variables: [] } });
  t.match((await object()).spec.bindings, [{ service: 'orders', dropDatabase: true }]);
  t.match(await bind('orders'), { status: 409, body: { code: 'not_ready' } });
  t.match((await api.call('GET', `${functions}/api/bindings`)).body, { items: [{ status: 'deleting' }] });
});

t.test('a service with bindings is not deleted; the functions and apps are named', async (t) => {
  const { api, kube, bind, unbind } = await world(t);
  await bind('orders');
  await bind('orders', {}, 'other');
  const remove = () => api.call('DELETE', `${base}/services/orders`);
  t.match(await remove(), {
    status: 409,
    body: {
      code: 'in_use',
      message: /used by the functions api, other\. Unbind/,
      details: { functions: ['api', 'other'] },
    },
  });
  await unbind('orders');
  await api.call('DELETE', `${functions}/other`);
  const app: App = {
    apiVersion: 'platform.svc/v1',
    kind: 'App',
    metadata: { name: 'web', namespace },
    spec: { image: 'r/web:1', port: 8080, replicas: 1, bindings: [{ service: 'orders', version: 1 }] },
  };
  kube.seed(app);
  t.match((await remove()).body, {
    message: 'The service "orders" is used by the app web. Unbind it first (svc app unbind).',
    details: { apps: ['web'], functions: [] },
  });
  await kube.delete({ ...kinds.App, namespace, name: 'web' });
  t.match((await remove()).status, 202, 'a function that is being deleted does not count');
});
