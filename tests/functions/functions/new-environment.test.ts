import t, { type Test } from 'tap';
import { createFunctionRoutes } from '../../../functions/functions/handler.ts';
import { createServiceRoutes } from '../../../functions/services/handler.ts';
import type { FunctionResource } from '../../../runtime/contracts/resources/function.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { secretsExpectedAnnotation } from '../../../runtime/domain/labels.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { allProjects, seedShop } from '../../support/objects.ts';
import { testDatabase } from '../../support/postgres.ts';

const base = '/api/v1/projects/shop';

async function world(t: Test) {
  const { pool } = await testDatabase(t);
  const kube = fakeKube({ checkNamespaces: true });
  seedShop(kube);
  const dependencies = { clock: fakeClock(), baseUrl: 'http://console.test', visibleProjects: allProjects(kube) };
  const routes = [...createFunctionRoutes({ kube, pool, ...dependencies }), ...createServiceRoutes({ kube })];
  const api = await testApi(t, { routes });
  const external = { host: 'orders.example.com' };
  await api.call('POST', `${base}/services`, { body: { name: 'orders', type: 'postgres', external } });
  const create = (body: object) =>
    api.call('POST', `${base}/functions`, { body: { name: 'report', runtime: 'node', code: 'x', ...body } });
  const object = () => kube.get<FunctionResource>(kinds.Function, 'report', 'shop-prod');
  return { kube, create, object };
}

t.test('201: a function is created with its variables, secrets and bindings in one request', async (t) => {
  const { kube, create, object } = await world(t);
  const env = { URL: '${DATABASE_URL}?key=${API_KEY}' };
  const created = await create({ env, secrets: { API_KEY: 'hush-hush' }, bindings: [{ service: 'orders' }] });
  t.match(created, { status: 201, body: { env, bindings: [{ service: 'orders' }] } });
  t.notMatch(JSON.stringify(created.body), 'hush-hush');
  const report = await object();
  t.match(report?.spec, { bindings: [{ service: 'orders' }], secretsRevision: String });
  t.notOk(report?.metadata.annotations?.[secretsExpectedAnnotation], 'its pods wait no longer');
  t.match(kube.all(kinds.Secret), [{ metadata: { name: 'function-report-secrets' } }]);
});

t.test('a source that is also bound has one binding', async (t) => {
  const { create, object } = await world(t);
  const events = { source: 'orders', query: 'SELECT 1 AS id', markDone: 'SELECT {{id}}' };
  const bindings = [{ service: 'orders', prefix: 'ORDERS_' }];
  t.match(await create({ trigger: 'postgres', events, bindings }), { status: 201 });
  t.match((await object())?.spec.bindings, [{ service: 'orders', prefix: 'ORDERS_' }]);
  t.equal((await object())?.spec.bindings?.length, 1);
});

t.test('what cannot be set refuses the whole request, and leaves nothing', async (t) => {
  const { kube, create } = await world(t);
  for (const [body, status, code] of [
    [{ bindings: [{ service: 'none' }] }, 404, 'not_found'],
    [{ env: { A: '${NONE}' } }, 422, 'invalid_value'],
    [{ secrets: { '1A': 'x' } }, 422, 'invalid_value'],
    [{ secrets: { A: 'x' }, env: { A: 'y' } }, 409, 'already_exists'],
    [{ secrets: { SVC_TRIGGER: 'x' } }, 422, 'invalid_value'],
  ] as const) {
    t.match(await create(body), { status, body: { code } }, JSON.stringify(body));
  }
  t.same(kube.all(kinds.Function), []);
  t.same(kube.all(kinds.Secret), []);
});
