import t, { type Test } from 'tap';
import { createPlanRoutes } from '../../../functions/plans/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertKey } from '../../../runtime/records/keys.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testEnvironments } from '../environments.ts';

const small = { name: 'small', requestsPerSecond: 5, burst: 10 };
const shop = '/api/v1/projects/shop/plans';
const wide = '/api/v1/projects/wide/plans';

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const environments = testEnvironments();
  const log = recordingLog();
  const api = await testApi(t, { routes: createPlanRoutes({ pool, ...environments }), log: log.log });
  return {
    ...{ pool, environments },
    call: (...request: Parameters<typeof api.call>) => api.call(...request),
    audits: () => log.entries.filter(({ msg }) => msg === 'apikey audit'),
  };
}

t.test('201: a plan is created, and recorded with who and what', async (t) => {
  const { call, audits } = await rig(t);
  const created = await call('POST', shop, { body: { ...small, name: ' Grün & 小 ' } });
  t.equal(created.status, 201);
  t.match(created.body, { ...small, name: 'Grün & 小', environment: 'prod', id: String, createdAt: /Z$/ });
  t.match(audits(), [
    {
      ...{ action: 'plan.create', actor: 'admin@svc.local', project: 'shop', environment: 'prod' },
      plan: { id: created.body.id, name: 'Grün & 小', requestsPerSecond: 5, burst: 10 },
    },
  ]);
  t.equal((await call('POST', shop, { body: { ...small, requestsPerSecond: 0.5 } })).body.requestsPerSecond, 0.5);
});

t.test('400: what is no plan', async (t) => {
  const { call, audits } = await rig(t);
  const bodies = [
    {},
    { ...small, name: '' },
    { ...small, name: '  ' },
    { ...small, name: 'x'.repeat(101) },
    { ...small, name: 'a\nb' },
    { ...small, name: 'a\0b' },
    { ...small, requestsPerSecond: 0 },
    { ...small, requestsPerSecond: -1 },
    { ...small, requestsPerSecond: '5' },
    { ...small, requestsPerSecond: 1e9 },
    { ...small, burst: 0 },
    { ...small, burst: 1.5 },
    { ...small, quota: 5 },
  ];
  for (const body of bodies) {
    const refused = await call('POST', shop, { body });
    t.match(refused, { status: 400, body: { code: 'invalid_request' } }, JSON.stringify(body));
  }
  const unnamed = await call('POST', wide, { body: small });
  t.match(unnamed, { status: 400, body: { code: 'environment_required' } });
  t.equal((await call('GET', `${shop}?cursor=nonsense`)).status, 400);
  t.equal((await call('GET', `${shop}?limit=0`)).status, 400);
  t.same(audits(), []);
});

t.test('401: without a session', async (t) => {
  const { call } = await rig(t);
  const headers = { authorization: '' };
  t.equal((await call('POST', shop, { body: small, headers })).status, 401);
  for (const [method, path] of [
    ['GET', shop],
    ['GET', `${shop}/${newId()}`],
    ['DELETE', `${shop}/${newId()}`],
  ] as const) {
    t.equal((await call(method, path, { headers })).status, 401);
  }
});

t.test('409: a name is taken within its environment only', async (t) => {
  const { call } = await rig(t);
  t.equal((await call('POST', `${wide}?environment=prod`, { body: small })).status, 201);
  t.equal((await call('POST', `${wide}?environment=test`, { body: small })).status, 201);
  const again = await call('POST', `${wide}?environment=prod`, { body: small });
  t.match(again, { status: 409, body: { code: 'already_exists', message: /small/ } });
  t.equal((await call('GET', `${wide}?environment=prod`)).body.items.length, 1, 'nothing stays behind');
});

t.test('lists come newest first, page by page', async (t) => {
  const { call } = await rig(t);
  t.same((await call('GET', shop)).body, { items: [] });
  for (let n = 1; n <= 5; n++) await call('POST', shop, { body: { ...small, name: `plan ${n}` } });
  const pages: { id: string; name: string }[][] = [];
  let next = `${shop}?limit=2`;
  for (;;) {
    const { body } = await call('GET', next);
    pages.push(body.items);
    if (body.nextCursor === undefined) break;
    next = `${shop}?limit=2&cursor=${body.nextCursor}`;
  }
  t.same(
    pages.map(({ length }) => length),
    [2, 2, 1],
  );
  const plans = pages.flat();
  t.same(plans.map(({ name }) => name).sort(), ['plan 1', 'plan 2', 'plan 3', 'plan 4', 'plan 5']);
  const ids = plans.map(({ id }) => id);
  t.same(ids, [...ids].sort().toReversed(), 'ids are ordered by time, to the millisecond');
  t.notOk('nextCursor' in (await call('GET', `${shop}?limit=5`)).body);
});

t.test('a plan is found by id in its project, by name in its environment, and nowhere else', async (t) => {
  const { call } = await rig(t);
  const { body: plan } = await call('POST', `${wide}?environment=test`, { body: small });
  t.same((await call('GET', `${wide}/${plan.id}`)).body, plan);
  t.same((await call('GET', `${wide}/small?environment=test`)).body, plan);
  t.match(await call('GET', `${wide}/small`), { status: 400, body: { code: 'environment_required' } });
  const elsewhere = [
    ...[`${wide}/${plan.id}?environment=prod`, `${wide}/small?environment=prod`, `${shop}/${plan.id}`, `${shop}/small`],
    ...[`${wide}/${newId()}`, `/api/v1/projects/none/plans/${plan.id}`],
  ];
  for (const path of elsewhere) {
    for (const method of ['GET', 'DELETE']) {
      t.match(await call(method, path), { status: 404, body: { code: 'not_found' } }, `${method} ${path}`);
    }
  }
  t.equal((await call('GET', `${wide}/${plan.id}`)).status, 200);
});

t.test('204: a plan is deleted; 409 while keys are on it, which are named', async (t) => {
  const { pool, call, audits, environments } = await rig(t);
  const { body: plan } = await call('POST', shop, { body: small });
  const environmentId = environments.all[0]?.environmentId ?? '';
  const handles: string[] = [];
  for (let n = 1; n <= 12; n++) {
    const { record } = await insertKey(pool, {
      ...{ environmentId, planId: plan.id, scope: null, expiresAt: null, createdBy: 'a' },
      name: n === 1 ? 'Acme' : null,
    });
    handles.push(record.handle);
  }
  const refused = await call('DELETE', `${shop}/${plan.id}`);
  t.match(refused, { status: 409, body: { code: 'in_use', details: { keys: handles.slice(0, 10), total: 12 } } });
  t.match(refused.body.message, `${handles[0]} (Acme), ${handles[1]}`);
  t.match(refused.body.message, 'and 2 more');
  t.equal((await call('GET', `${shop}/${plan.id}`)).status, 200);

  await pool.query('DELETE FROM api_keys');
  const deleted = await call('DELETE', `${shop}/small`);
  t.match(deleted, { status: 204, text: '' });
  t.equal((await call('GET', `${shop}/${plan.id}`)).status, 404);
  t.equal((await call('DELETE', `${shop}/${plan.id}`)).status, 404);
  t.match(audits(), [{ action: 'plan.create' }, { action: 'plan.delete', plan: { id: plan.id } }]);
  t.equal(audits().length, 2);
});
