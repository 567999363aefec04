import t from 'tap';
import { apiKeyDigest, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { keyRig, shop, wide } from './rig.ts';

t.test('201: the key is shown once, and only its digest is kept', async (t) => {
  const { call, audits, rows, log, pool, head } = await keyRig(t);
  const created = await call('POST', shop, {
    body: { name: 'Zürich', plan: 'small', apps: ['web', 'api', 'web'], expiresAt: '2026-12-31T23:59:59+02:00' },
  });
  t.equal(created.status, 201);
  const { key, change, ...view } = created.body;
  t.same(parseApiKey(key), { handle: view.handle });
  t.same(change, { version: await head() });
  t.match(view, {
    name: 'Zürich',
    plan: 'small',
    environment: 'prod',
    apps: ['api', 'web'],
    enabled: true,
    expiresAt: '2026-12-31T21:59:59.000Z',
    createdBy: 'admin@svc.local',
    usage: { allowed: 0, rateDenied: 0, quotaDenied: 0 },
  });
  t.same((await call('GET', `${shop}/${view.id}`)).body, view);

  const [row] = await rows();
  t.same(row?.['digest'], apiKeyDigest(key));
  t.match(audits(), [
    {
      action: 'key.create',
      actor: 'admin@svc.local',
      project: 'shop',
      environment: 'prod',
      version: change.version,
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

t.test('201: a key with only a plan opens every app and never expires', async (t) => {
  const { call, plans } = await keyRig(t);
  const { body } = await call('POST', shop, { body: { plan: plans.get('shop-prod') } });
  for (const field of ['name', 'apps', 'allowedCidrs', 'expiresAt', 'expiryWarning', 'replacedBy'])
    t.notOk(field in body, field);
  t.equal(body.plan, 'small');
});

t.test('400: an invalid key', async (t) => {
  const { call, rows } = await keyRig(t);
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
    { plan: 'small', allowedCidrs: [] },
    { plan: 'small', allowedCidrs: '10.0.0.0/8' },
    { plan: 'small', enabled: false },
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
  const { call } = await keyRig(t);
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

t.test('404: a missing project, environment or key', async (t) => {
  const { call } = await keyRig(t);
  t.equal((await call('POST', '/api/v1/projects/none/api-keys', { body: { plan: 'small' } })).status, 404);
  t.equal((await call('POST', `${wide}?environment=none`, { body: { plan: 'small' } })).status, 404);
  const { body: key } = await call('POST', `${wide}?environment=test`, { body: { plan: 'small' } });
  const elsewhere = [
    `${shop}/${key.id}`,
    `${shop}/${key.handle}`,
    `${wide}/${key.id}?environment=prod`,
    `${wide}/${newId()}`,
    `${wide}/${key.key}`,
    `${wide}/x`,
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
  const { call, rows, audits, plans, clock } = await keyRig(t);
  const refusals: [Record<string, unknown>, string, RegExp][] = [
    [{ expiresAt: clock.now().toISOString() }, 'expiresAt', /past/],
    [{ expiresAt: '2020-01-01T00:00:00Z' }, 'expiresAt', /past/],
    [{ plan: 'large' }, 'plan', /"large"/],
    [{ plan: newId() }, 'plan', /no plan/],
    [{ plan: plans.get('wide-prod') }, 'plan', /no plan/],
    [{ apps: ['api', 'none', 'nope'] }, 'apps', /"none", "nope"/],
    [{ allowedCidrs: ['10.0.0.0/8', '192.0.2.7/24'] }, 'allowedCidrs', /192\.0\.2\.0\/24/],
    [{ allowedCidrs: ['2001:db8::1/32'] }, 'allowedCidrs', /2001:db8::\/32/],
    [{ allowedCidrs: ['example.com'] }, 'allowedCidrs', /"example\.com"/],
  ];
  for (const [change, field, message] of refusals) {
    const refused = await call('POST', shop, { body: { plan: 'small', ...change } });
    t.match(refused, { status: 422, body: { code: 'invalid_value', message, details: { field } } });
  }
  t.same(await rows(), [], 'nothing stays behind');
  t.same(audits(), []);
  const inOneSecond = new Date(clock.now().getTime() + 1000).toISOString();
  t.equal((await call('POST', shop, { body: { plan: 'small', expiresAt: inOneSecond } })).status, 201);
});

t.test('a scope means the app, not its name', async (t) => {
  const { pool, call } = await keyRig(t);
  const { body: key } = await call('POST', shop, { body: { plan: 'small', apps: ['api'] } });
  await pool.query(`UPDATE workloads SET deleted_at = now() WHERE namespace = 'shop-prod' AND name = 'api'`);
  t.same((await call('GET', `${shop}/${key.id}`)).body.apps, [], 'a deleted app is left out');
  const refused = await call('POST', shop, { body: { plan: 'small', apps: ['api'] } });
  t.equal(refused.status, 422);
});

t.test('lists are newest first, in pages, and show no key', async (t) => {
  const { call } = await keyRig(t);
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

t.test('an allow-list is kept as networks, each once', async (t) => {
  const { call, create } = await keyRig(t);
  const { view } = await create({
    allowedCidrs: ['192.0.2.7', '10.0.0.0/8', '192.0.2.7/32', '2001:DB8:0::/32', '::1'],
  });
  t.same(view.allowedCidrs, ['192.0.2.7/32', '10.0.0.0/8', '2001:db8::/32', '::1/128']);
  t.same((await call('GET', `${shop}/${view.handle}`)).body, view);
});

t.test('the expiry warns in the last two weeks, and after it', async (t) => {
  const { call, create, clock } = await keyRig(t);
  const { view } = await create({ expiresAt: '2026-03-20T12:00:00Z' });
  const warning = async () => (await call('GET', `${shop}/${view.id}`)).body.expiryWarning;
  t.equal(await warning(), undefined);
  clock.jump(5 * 86_400_000 - 1);
  t.equal(await warning(), undefined);
  clock.jump(1);
  t.equal(await warning(), 'soon');
  clock.jump(14 * 86_400_000 - 1);
  t.equal(await warning(), 'soon');
  clock.jump(1);
  t.equal(await warning(), 'expired');
  t.equal((await call('GET', shop)).body.items[0].expiryWarning, 'expired');
});

t.test('200: revoked, with the version of the change; then it is not found', async (t) => {
  const { call, audits, head } = await keyRig(t);
  const { body: view } = await call('POST', `${wide}?environment=test`, { body: { plan: 'small', name: 'Acme' } });
  const revoked = await call('DELETE', `${wide}/${view.handle}`);
  t.equal(revoked.status, 200);
  t.same(revoked.body, { id: view.id, handle: view.handle, change: { version: await head() } });
  t.equal((await call('DELETE', `${wide}/${view.id}`)).status, 404);
  t.equal((await call('PATCH', `${wide}/${view.id}`, { body: { enabled: true } })).status, 404);
  t.match(audits(), [
    { action: 'key.create' },
    { action: 'key.revoke', actor: 'admin@svc.local', version: Number, apiKey: { handle: view.handle, name: 'Acme' } },
  ]);
});

t.test('totals of 90 days and the last day seen, for lists and for one key', async (t) => {
  const { call, create, pool } = await keyRig(t);
  const used = await create();
  const unused = await create();
  const days: [string, number, number, number][] = [
    // 90 days ago, which no longer counts, and 89 days ago, which does.
    ['2025-12-01', 1000, 1000, 1000],
    ['2025-12-02', 1, 2, 3],
    ['2026-02-28', 10, 20, 30],
    ['2026-03-01', 0, 0, 0],
  ];
  for (const [day, ...counts] of days) {
    for (const incarnation of [newId(), newId()]) {
      await pool.query('INSERT INTO usage VALUES ($1, $2, $3, $4, $5, $6, 1)', [
        used.view.id,
        day,
        incarnation,
        ...counts,
      ]);
    }
  }
  const usage = { allowed: 22, rateDenied: 44, quotaDenied: 66, lastSeen: '2026-02-28' };
  t.same((await call('GET', `${shop}/${used.view.id}`)).body.usage, usage);
  const { items } = (await call('GET', shop)).body as { items: { id: string; usage: object }[] };
  t.same(items.find(({ id }) => id === used.view.id)?.usage, usage);
  const none = { allowed: 0, rateDenied: 0, quotaDenied: 0 };
  t.same(items.find(({ id }) => id === unused.view.id)?.usage, none);
});

t.test('the OpenAPI document publishes the form of a key', async (t) => {
  const { call, create } = await keyRig(t);
  const { body } = await call('GET', '/api/v1/openapi.json');
  const created = body.paths['/projects/{project}/api-keys'].post.responses[201].content['application/json'].schema;
  const pattern = new RegExp(created.properties.key.pattern);
  t.match((await create()).key, pattern);
  t.notMatch('svc_short', pattern);
});
