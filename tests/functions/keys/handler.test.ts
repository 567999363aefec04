import t, { type Test } from 'tap';
import { createKeyRoutes } from '../../../functions/keys/handler.ts';
import { apiKeyDigest, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';
import { testEnvironments } from '../environments.ts';

const shop = '/api/v1/projects/shop/api-keys';
const wide = '/api/v1/projects/wide/api-keys';

async function rig(t: Test) {
  const { pool } = await testDatabase(t);
  const environments = testEnvironments();
  const clock = fakeClock(new Date('2026-03-01T12:00:00Z'));
  const log = recordingLog();
  const findApp = async (namespace: string, name: string) => {
    const { rows } = await pool.query<{ id: string }>(
      'SELECT id FROM workloads WHERE namespace = $1 AND name = $2 AND deleted_at IS NULL',
      [namespace, name],
    );
    return rows[0];
  };
  const api = await testApi(t, {
    routes: createKeyRoutes({ pool, clock, findApp, ...environments }),
    log: log.log,
  });
  const plans = new Map<string, string>();
  for (const { namespace, environmentId, project, environment } of environments.all) {
    const plan = await insertPlan(pool, { environmentId, name: 'small', requestsPerSecond: 5, burst: 5 });
    plans.set(namespace, plan.id);
    for (const app of ['api', 'web']) {
      await pool.query(
        `INSERT INTO workloads (id, kind, environment_id, project, environment, namespace, name)
         VALUES ($1, 'App', $2, $3, $4, $5, $6)`,
        [newId(), environmentId, project, environment, namespace, app],
      );
    }
  }
  return {
    ...{ pool, clock, log, plans },
    call: (...request: Parameters<typeof api.call>) => api.call(...request),
    audits: () => log.entries.filter(({ msg }) => msg === 'apikey audit'),
    rows: async () => (await pool.query('SELECT * FROM api_keys')).rows as Record<string, unknown>[],
  };
}

t.test('201: the key is shown once, and only its digest is kept', async (t) => {
  const { call, audits, rows, log, pool } = await rig(t);
  const created = await call('POST', shop, {
    body: { name: 'Zürich', plan: 'small', apps: ['web', 'api', 'web'], expiresAt: '2026-12-31T23:59:59+02:00' },
  });
  t.equal(created.status, 201);
  const { key, ...view } = created.body;
  t.same(parseApiKey(key), { handle: view.handle });
  t.match(view, {
    ...{ name: 'Zürich', plan: 'small', environment: 'prod', apps: ['api', 'web'], enabled: true },
    ...{ expiresAt: '2026-12-31T21:59:59.000Z', createdBy: 'admin@svc.local' },
  });
  t.same((await call('GET', `${shop}/${view.id}`)).body, view);

  const [row] = await rows();
  t.same(row?.['digest'], apiKeyDigest(key));
  t.match(audits(), [
    {
      ...{ action: 'key.create', actor: 'admin@svc.local', project: 'shop', environment: 'prod' },
      apiKey: { id: view.id, handle: view.handle, name: 'Zürich', plan: 'small', apps: ['api', 'web'] },
    },
  ]);
  const dump = await pool.query<{ everything: string }>(
    `SELECT string_agg(to_jsonb(api_keys)::text, '') || (SELECT string_agg(to_jsonb(changes)::text, '') FROM changes)
       AS everything FROM api_keys`,
  );
  const secret = key.slice('svc_12345678_'.length);
  t.notMatch(dump.rows[0]?.everything, secret);
  t.notMatch(log.text(), secret);
});

t.test('201: a key with nothing but a plan opens every app and never expires', async (t) => {
  const { call, plans } = await rig(t);
  const { body } = await call('POST', shop, { body: { plan: plans.get('shop-prod') } });
  for (const field of ['name', 'apps', 'expiresAt']) t.notOk(field in body, field);
  t.equal(body.plan, 'small');
});

t.test('400: what is no key', async (t) => {
  const { call, rows } = await rig(t);
  const bodies = [
    {},
    { plan: '' },
    { plan: 'small', apps: [] },
    { plan: 'small', apps: 'api' },
    { plan: 'small', name: 'a\r\nX-Admin: 1' },
    { plan: 'small', expiresAt: '2030-01-01' },
    { plan: 'small', expiresAt: '2026-02-30T00:00:00Z' },
    { plan: 'small', expiresAt: 'tomorrow' },
    { plan: 'small', key: 'svc_mine' },
    { plan: 'small\0' },
    { plan: 'small', apps: ['\0'] },
  ];
  for (const body of bodies) {
    const refused = await call('POST', shop, { body });
    t.match(refused, { status: 400, body: { code: 'invalid_request' } }, JSON.stringify(body));
  }
  t.match(await call('POST', wide, { body: { plan: 'small' } }), {
    status: 400,
    body: { code: 'environment_required' },
  });
  t.same(await rows(), []);
});

t.test('401: without a session', async (t) => {
  const { call } = await rig(t);
  const headers = { authorization: '' };
  t.equal((await call('POST', shop, { body: { plan: 'small' }, headers })).status, 401);
  t.equal((await call('PATCH', `${shop}/x`, { body: { enabled: true }, headers })).status, 401);
  for (const [method, path] of [
    ['GET', shop],
    ['GET', `${shop}/x`],
    ['DELETE', `${shop}/x`],
  ] as const) {
    t.equal((await call(method, path, { headers })).status, 401);
  }
});

t.test('404: a project, an environment or a key that is not there', async (t) => {
  const { call } = await rig(t);
  t.equal((await call('POST', '/api/v1/projects/none/api-keys', { body: { plan: 'small' } })).status, 404);
  t.equal((await call('POST', `${wide}?environment=none`, { body: { plan: 'small' } })).status, 404);
  const { body: key } = await call('POST', `${wide}?environment=test`, { body: { plan: 'small' } });
  const elsewhere = [
    ...[`${shop}/${key.id}`, `${shop}/${key.handle}`, `${wide}/${key.id}?environment=prod`, `${wide}/${newId()}`],
    ...[`${wide}/${key.key}`, `${wide}/x`],
  ];
  for (const path of elsewhere) {
    for (const [method, body] of [['GET'], ['PATCH', { enabled: false }], ['DELETE']] as const) {
      const answer = await call(method, path, body && { body });
      t.match(answer, { status: 404, body: { code: 'not_found' } }, `${method} ${path}`);
      t.notMatch(answer.text, key.key);
    }
  }
  t.equal((await call('GET', `${wide}/${key.id}`)).body.enabled, true);
  t.match(await call('GET', `${wide}/%00`), { status: 400, body: { code: 'invalid_request' } });
});

t.test('422: an expiry in the past, a plan or an app that does not exist', async (t) => {
  const { call, rows, audits, plans, clock } = await rig(t);
  const refusals: [Record<string, unknown>, string, RegExp][] = [
    [{ expiresAt: clock.now().toISOString() }, 'expiresAt', /past/],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt', /past/],
    [{ plan: 'large' }, 'plan', /"large"/],
    [{ plan: newId() }, 'plan', /no plan/],
    [{ plan: plans.get('wide-prod') }, 'plan', /no plan/],
    [{ apps: ['api', 'none', 'nope'] }, 'apps', /"none", "nope"/],
  ];
  for (const [change, field, message] of refusals) {
    const refused = await call('POST', shop, { body: { plan: 'small', ...change } });
    t.match(refused, { status: 422, body: { code: 'invalid_value', message, details: { field } } });
  }
  t.same(await rows(), [], 'nothing stays behind');
  t.same(audits(), []);
  const soon = new Date(clock.now().getTime() + 1000).toISOString();
  t.equal((await call('POST', shop, { body: { plan: 'small', expiresAt: soon } })).status, 201);
});

t.test('a scope means the app, not its name', async (t) => {
  const { pool, call } = await rig(t);
  const { body: key } = await call('POST', shop, { body: { plan: 'small', apps: ['api'] } });
  await pool.query(`UPDATE workloads SET deleted_at = now() WHERE namespace = 'shop-prod' AND name = 'api'`);
  t.same((await call('GET', `${shop}/${key.id}`)).body.apps, [], 'a deleted app is left out');
  const refused = await call('POST', shop, { body: { plan: 'small', apps: ['api'] } });
  t.equal(refused.status, 422);
});

t.test('lists come newest first, page by page, and show no key', async (t) => {
  const { call } = await rig(t);
  t.same((await call('GET', shop)).body, { items: [] });
  for (let n = 1; n <= 3; n++) await call('POST', shop, { body: { plan: 'small', name: `key ${n}` } });
  const first = await call('GET', `${shop}?limit=2`);
  t.notMatch(first.text, /svc_/);
  const second = await call('GET', `${shop}?limit=2&cursor=${first.body.nextCursor}`);
  const items = [...first.body.items, ...second.body.items] as { id: string; name: string }[];
  t.same(items.map(({ name }) => name).sort(), ['key 1', 'key 2', 'key 3']);
  const ids = items.map(({ id }) => id);
  t.same(ids, [...ids].sort().toReversed(), 'ids are ordered by time, to the millisecond');
  t.equal(second.body.items.length, 1);
  t.notOk('nextCursor' in second.body);
  t.equal((await call('GET', wide)).status, 400);
  t.same((await call('GET', `${wide}?environment=prod`)).body, { items: [] });
});

t.test('200: disabled and enabled again, by id or handle; 204: revoked', async (t) => {
  const { call, audits } = await rig(t);
  const { body: created } = await call('POST', `${wide}?environment=test`, { body: { plan: 'small', name: 'Acme' } });
  const { key: _, ...view } = created;
  const disabled = await call('PATCH', `${wide}/${view.id}`, { body: { enabled: false } });
  t.same(disabled, { ...disabled, status: 200, body: { ...view, enabled: false } });
  t.equal((await call('PATCH', `${wide}/${view.handle}`, { body: { enabled: false } })).status, 200, 'again');
  t.equal((await call('GET', `${wide}/${view.handle}`)).body.enabled, false);
  t.same((await call('PATCH', `${wide}/${view.handle}`, { body: { enabled: true } })).body, view);
  t.equal((await call('PATCH', `${wide}/${view.id}`, { body: {} })).status, 400);
  t.match(await call('DELETE', `${wide}/${view.handle}`), { status: 204, text: '' });
  t.equal((await call('DELETE', `${wide}/${view.id}`)).status, 404);
  t.equal((await call('PATCH', `${wide}/${view.id}`, { body: { enabled: true } })).status, 404);
  t.same(
    audits().map(({ action }) => action),
    ['key.create', 'key.disable', 'key.enable', 'key.revoke'],
    'one entry for each change, none where nothing changed',
  );
  for (const entry of audits()) t.match(entry, { actor: 'admin@svc.local', apiKey: { handle: view.handle } });
});
