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
    pool,
    environments,
    head: async () => {
      const { rows } = await pool.query<{ version: number }>('SELECT version::integer AS version FROM feed_head');
      return rows[0]?.version;
    },
    /** Puts keys on a plan of shop's only environment; the first has a name. */
    addKeys: async (planId: string, count: number) => {
      const handles: string[] = [];
      const environmentId = environments.all[0]?.environmentId ?? '';
      for (let n = 1; n <= count; n++) {
        const { record } = await insertKey(pool, {
          environmentId,
          planId,
          scope: null,
          expiresAt: null,
          createdBy: 'a',
          name: n === 1 ? 'Acme' : null,
        });
        handles.push(record.handle);
      }
      return handles;
    },
    call: (...request: Parameters<typeof api.call>) => api.call(...request),
    audits: () => log.entries.filter(({ msg }) => msg === 'apikey audit'),
  };
}

t.test('201: a plan is created, and recorded with who and what', async (t) => {
  const { call, audits, head } = await rig(t);
  const created = await call('POST', shop, { body: { ...small, name: ' Grün & 小 ' } });
  t.equal(created.status, 201);
  t.same(created.body.change, { version: await head() });
  t.equal(created.body.keys, 0);
  t.notOk('quota' in created.body);
  t.match(created.body, { ...small, name: 'Grün & 小', environment: 'prod', id: String, createdAt: /Z$/ });
  t.match(audits(), [
    {
      action: 'plan.create',
      actor: 'admin@svc.local',
      project: 'shop',
      environment: 'prod',
      version: created.body.change.version,
      plan: { id: created.body.id, name: 'Grün & 小', requestsPerSecond: 5, burst: 10 },
    },
  ]);
  for (const quota of [
    { limit: 1, period: 'day' },
    { limit: 1_000_000_000_000, period: 'month' },
  ]) {
    const { body } = await call('POST', shop, { body: { ...small, name: quota.period, quota } });
    t.same(body.quota, quota);
    t.same((await call('GET', `${shop}/${body.id}`)).body.quota, quota);
  }
  t.equal((await call('POST', shop, { body: { ...small, requestsPerSecond: 0.5 } })).body.requestsPerSecond, 0.5);
});

t.test('400: an invalid plan', async (t) => {
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
    { ...small, quota: null },
    { ...small, quota: { limit: 0, period: 'day' } },
    { ...small, quota: { limit: 10, period: 'year' } },
    { ...small, quota: { limit: 1.5, period: 'day' } },
    { ...small, quota: { limit: 10 } },
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

t.test('409: a name is unique within its environment only', async (t) => {
  const { call } = await rig(t);
  t.equal((await call('POST', `${wide}?environment=prod`, { body: small })).status, 201);
  t.equal((await call('POST', `${wide}?environment=test`, { body: small })).status, 201);
  const duplicate = await call('POST', `${wide}?environment=prod`, { body: small });
  t.match(duplicate, { status: 409, body: { code: 'already_exists', message: /small/ } });
  t.equal((await call('GET', `${wide}?environment=prod`)).body.items.length, 1, 'nothing stays behind');
});

t.test('lists are newest first, in pages', async (t) => {
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
  const { change: _, ...plan } = (await call('POST', `${wide}?environment=test`, { body: small })).body;
  t.same((await call('GET', `${wide}/${plan.id}`)).body, plan);
  t.same((await call('GET', `${wide}/small?environment=test`)).body, plan);
  t.match(await call('GET', `${wide}/small`), { status: 400, body: { code: 'environment_required' } });
  const elsewhere = [
    `${wide}/${plan.id}?environment=prod`,
    `${wide}/small?environment=prod`,
    `${shop}/${plan.id}`,
    `${shop}/small`,
    `${wide}/${newId()}`,
    `/api/v1/projects/none/plans/${plan.id}`,
  ];
  for (const path of elsewhere) {
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { burst: 1 }]] as const) {
      t.match(
        await call(method, path, body && { body }),
        { status: 404, body: { code: 'not_found' } },
        `${method} ${path}`,
      );
    }
  }
  t.equal((await call('GET', `${wide}/${plan.id}`)).status, 200);
});

t.test('200: every field of a plan changes; a quota of null is removed', async (t) => {
  const { call, audits, head, addKeys } = await rig(t);
  const { change: _, ...plan } = (await call('POST', shop, { body: small })).body;
  await addKeys(plan.id, 2);
  const quota = { limit: 1000, period: 'week' };
  const changed = { name: 'medium', requestsPerSecond: 50.5, burst: 100, quota };
  const updated = await call('PATCH', `${shop}/small`, { body: changed });
  t.equal(updated.status, 200, updated.text);
  t.same(updated.body, { ...plan, ...changed, keys: 2, change: { version: await head() } });
  t.match(audits().at(-1), {
    action: 'plan.update',
    actor: 'admin@svc.local',
    project: 'shop',
    environment: 'prod',
    version: await head(),
    plan: { id: plan.id, name: 'medium' },
    changes: {
      name: { from: 'small', to: 'medium' },
      requestsPerSecond: { from: 5, to: 50.5 },
      burst: { from: 10, to: 100 },
      quota: { from: null, to: quota },
    },
  });
  const fewer = await call('PATCH', `${shop}/${plan.id}`, { body: { quota: { limit: 10, period: 'week' } } });
  t.same(fewer.body.quota, { limit: 10, period: 'week' });
  t.same(Object.keys(Object(audits().at(-1)?.['changes'])), ['quota'], 'only what changed');
  const removed = await call('PATCH', `${shop}/${plan.id}`, { body: { quota: null } });
  t.notOk('quota' in removed.body);
  t.equal(removed.body.burst, 100, 'absent fields stay');

  const [version, entries] = [await head(), audits().length];
  for (const body of [{}, { quota: null }, { name: 'medium', burst: 100, requestsPerSecond: 50.5 }]) {
    const same = await call('PATCH', `${shop}/${plan.id}`, { body });
    t.equal(same.status, 200);
    t.notOk('change' in same.body, JSON.stringify(body));
  }
  t.equal(await head(), version, 'the gate gets no version without a change');
  t.equal(audits().length, entries);
});

t.test('400, 401 and 409 leave a plan unchanged', async (t) => {
  const { call, audits } = await rig(t);
  const { change: _, ...plan } = (await call('POST', shop, { body: small })).body;
  await call('POST', shop, { body: { ...small, name: 'large' } });
  for (const body of [{ burst: 0 }, { name: null }, { quota: {} }, { quota: { limit: 1 } }, { id: newId() }]) {
    t.equal((await call('PATCH', `${shop}/small`, { body })).status, 400, JSON.stringify(body));
  }
  const headers = { authorization: '' };
  t.equal((await call('PATCH', `${shop}/small`, { body: { burst: 1 }, headers })).status, 401);
  const nameConflict = await call('PATCH', `${shop}/small`, { body: { name: 'large', burst: 1 } });
  t.match(nameConflict, {
    status: 409,
    body: { code: 'already_exists', message: /large/, details: { name: 'large' } },
  });
  t.same((await call('GET', `${shop}/small`)).body, plan);
  t.equal(audits().length, 2);
});

t.test('409: a change that names what it replaces applies to nothing else', async (t) => {
  const { call, audits } = await rig(t);
  const path = `${shop}/small`;
  const quota = { limit: 1000, period: 'day' };
  await call('POST', shop, { body: small });
  const change = (body: object) => call('PATCH', path, { body });
  t.match(await change({ burst: 20, replaces: { burst: 10 } }), { status: 200, body: { burst: 20 } });
  t.match(await change({ burst: 30, requestsPerSecond: 6, replaces: { burst: 10, requestsPerSecond: 5 } }), {
    status: 409,
    body: { code: 'conflict', message: /changed burst of the plan "small"/, details: { settings: ['burst'] } },
  });
  t.match(await change({ requestsPerSecond: 6, replaces: { requestsPerSecond: 5 } }), { body: { burst: 20 } });
  t.match(await change({ quota, replaces: { quota: null } }), { status: 200, body: { quota } });
  t.match(await change({ quota: null, replaces: { quota: null } }), { body: { details: { settings: ['quota'] } } });
  t.match(await change({ quota: null, replaces: { quota } }), { status: 200 });
  t.match(await change({ name: 'tiny', replaces: { name: 'other' } }), { status: 409 });
  t.match(await change({ burst: 1, replaces: { keys: 0 } }), { status: 400 });
  const both = [40, 50].map((burst) => change({ burst, replaces: { burst: 20 } }));
  t.same(
    (await Promise.all(both)).map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
    'of two at once, one',
  );
  t.equal(audits().length, 6, 'a refused change is not recorded');
});

t.test('200: a plan is deleted; 409 while it has keys, which are named', async (t) => {
  const { pool, call, audits, addKeys, head } = await rig(t);
  const { body: plan } = await call('POST', shop, { body: small });
  const handles = await addKeys(plan.id, 12);
  t.equal((await call('GET', shop)).body.items[0].keys, 12);
  const refused = await call('DELETE', `${shop}/${plan.id}`);
  t.match(refused, { status: 409, body: { code: 'in_use', details: { keys: handles.slice(0, 10), total: 12 } } });
  t.match(refused.body.message, `${handles[0]} (Acme), ${handles[1]}`);
  t.match(refused.body.message, 'and 2 more');
  t.equal((await call('GET', `${shop}/${plan.id}`)).status, 200);

  await pool.query('DELETE FROM api_keys');
  const deleted = await call('DELETE', `${shop}/small`);
  t.equal(deleted.status, 200);
  t.same(deleted.body, { id: plan.id, name: 'small', change: { version: await head() } });
  t.equal((await call('GET', `${shop}/${plan.id}`)).status, 404);
  t.equal((await call('DELETE', `${shop}/${plan.id}`)).status, 404);
  t.match(audits(), [{ action: 'plan.create' }, { action: 'plan.delete', plan: { id: plan.id } }]);
  t.equal(audits().length, 2);
});
