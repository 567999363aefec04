import t from 'tap';
import { newId } from '../../../runtime/domain/ids.ts';
import { insertPlan } from '../../../runtime/records/plans.ts';
import { keyRig, shop, wide } from './rig.ts';

t.test('disabled and enabled again, by id or handle; an unchanged key is not recorded', async (t) => {
  const { call, create, audits, head } = await keyRig(t);
  const { view } = await create({ name: 'Acme' });
  const disabled = await call('PATCH', `${shop}/${view.id}`, { body: { enabled: false } });
  t.equal(disabled.status, 200);
  t.same(disabled.body, { ...view, enabled: false, change: { version: await head() } });
  const version = await head();
  for (const body of [{ enabled: false }, {}, { name: 'Acme', plan: 'small', apps: null, expiresAt: null }]) {
    const repeat = await call('PATCH', `${shop}/${view.handle}`, { body });
    t.same([repeat.status, repeat.body], [200, { ...view, enabled: false }], JSON.stringify(body));
  }
  t.equal(await head(), version, 'the gate gets no version');
  t.same((await call('PATCH', `${shop}/${view.handle}`, { body: { enabled: true } })).body, {
    ...view,
    change: { version: version === undefined ? 0 : version + 1 },
  });
  t.match(audits(), [
    { action: 'key.create' },
    { action: 'key.disable', changes: { enabled: { from: true, to: false } }, version },
    { action: 'key.enable', changes: { enabled: { from: false, to: true } } },
  ]);
  t.equal(audits().length, 3);
  for (const entry of audits()) t.match(entry, { actor: 'admin@svc.local', apiKey: { handle: view.handle } });
});

t.test('every field changes, and null removes limits', async (t) => {
  const { call, create, audits, pool, environments } = await keyRig(t);
  const environmentId = environments.all[0]?.environmentId ?? '';
  await insertPlan(pool, { environmentId, name: 'large', requestsPerSecond: 50, burst: 50 });
  const { view } = await create({ name: 'Acme', apps: ['api'] });
  const set = await call('PATCH', `${shop}/${view.id}`, {
    body: {
      name: 'Acme & Co',
      plan: 'large',
      apps: ['web', 'api'],
      allowedCidrs: ['192.0.2.1'],
      expiresAt: '2026-04-01T00:00:00Z',
    },
  });
  const { change, ...changed } = set.body;
  t.match(changed, {
    id: view.id,
    handle: view.handle,
    name: 'Acme & Co',
    plan: 'large',
    apps: ['api', 'web'],
    enabled: true,
    allowedCidrs: ['192.0.2.1/32'],
    expiresAt: '2026-04-01T00:00:00.000Z',
  });
  t.match(audits().at(-1), {
    action: 'key.update',
    version: change.version,
    changes: {
      name: { from: 'Acme', to: 'Acme & Co' },
      plan: { from: 'small', to: 'large' },
      apps: { from: ['api'], to: ['api', 'web'] },
      allowedCidrs: { from: null, to: ['192.0.2.1/32'] },
      expiresAt: { from: null },
    },
  });
  t.notOk('enabled' in Object(audits().at(-1)?.['changes']), 'only what changed');
  t.same((await call('GET', `${shop}/${view.id}`)).body, changed);

  const emptyChange = { name: null, apps: null, allowedCidrs: null, expiresAt: null };
  const { body: cleared } = await call('PATCH', `${shop}/${view.id}`, { body: emptyChange });
  for (const field of Object.keys(emptyChange)) t.notOk(field in cleared, field);
  t.equal(cleared.plan, 'large', 'absent fields stay');
});

t.test('400, 404 and 422 leave the key unchanged', async (t) => {
  const { call, create, audits, plans, head } = await keyRig(t);
  const { view } = await create();
  const version = await head();
  for (const body of [{ enabled: null }, { plan: null }, { name: '' }, { apps: [] }, { handle: 'x' }, { digest: '' }]) {
    t.match(await call('PATCH', `${shop}/${view.id}`, { body }), { status: 400 }, JSON.stringify(body));
  }
  const refusals: [Record<string, unknown>, string][] = [
    [{ enabled: false, plan: 'none' }, 'plan'],
    [{ plan: plans.get('wide-prod') }, 'plan'],
    [{ apps: ['none'] }, 'apps'],
    [{ allowedCidrs: ['10.1.0.0/8'] }, 'allowedCidrs'],
    [{ expiresAt: '2026-03-01T12:00:00Z' }, 'expiresAt'],
  ];
  for (const [body, field] of refusals) {
    const refused = await call('PATCH', `${shop}/${view.id}`, { body });
    t.match(refused, { status: 422, body: { code: 'invalid_value', details: { field } } }, JSON.stringify(body));
  }
  t.equal((await call('PATCH', `${wide}/${view.id}`, { body: { enabled: false } })).status, 404);
  t.equal((await call('PATCH', `${shop}/${newId()}`, { body: { enabled: false } })).status, 404);
  t.same((await call('GET', `${shop}/${view.id}`)).body, view);
  t.equal(await head(), version);
  t.equal(audits().length, 1);
});

t.test('409: a change that names what it replaces applies to nothing else', async (t) => {
  const { call, create, audits, plans, pool } = await keyRig(t);
  const { view } = await create({ name: 'Acme', apps: ['api', 'web'], allowedCidrs: ['192.0.2.0/24', '10.0.0.0/8'] });
  const change = (body: object) => call('PATCH', `${shop}/${view.id}`, { body });
  const seen = { name: 'Acme', plan: 'small', apps: ['web', 'api'], allowedCidrs: ['10.0.0.0/8', '192.0.2.0/24'] };
  const everything = { enabled: true, ...seen, expiresAt: null };
  t.match(await change({ expiresAt: '2026-04-01T00:00:00Z', replaces: everything }), { status: 200 }, 'in any order');
  t.match(await change({ name: 'Other', expiresAt: null, replaces: { name: 'Acme', expiresAt: null } }), {
    status: 409,
    body: {
      code: 'conflict',
      message: new RegExp(`changed expiresAt of the key ${view.handle}`),
      details: { settings: ['expiresAt'] },
    },
  });
  t.match(await change({ name: 'Other', replaces: { name: 'Acme', expiresAt: '2026-04-01T02:00:00+02:00' } }), {
    status: 200,
    body: { name: 'Other', expiresAt: '2026-04-01T00:00:00.000Z' },
  });
  t.match(await change({ apps: ['api'], replaces: { plan: plans.get('shop-prod') } }), { status: 200 }, 'a plan by id');
  for (const replaces of [{ enabled: false }, { plan: 'large' }, { apps: null }, { allowedCidrs: ['10.0.0.0/8'] }]) {
    t.match(
      await change({ name: 'X', replaces }),
      { status: 409, body: { details: { settings: Object.keys(replaces) } } },
      JSON.stringify(replaces),
    );
  }
  await pool.query("UPDATE workloads SET deleted_at = now() WHERE name = 'api'");
  t.match(await change({ apps: null, replaces: { apps: null } }), { status: 409 }, 'no app is not all apps');
  t.match(await change({ apps: null, replaces: { apps: [] } }), { status: 200 });
  t.match(await change({ name: 'X', replaces: { handle: view.handle } }), { status: 400 });
  const both = ['B', 'C'].map((name) => change({ name, replaces: { name: 'Other' } }));
  t.same(
    (await Promise.all(both)).map(({ status }) => status).toSorted((a, b) => a - b),
    [200, 409],
    'of two at once, one',
  );
  t.equal(audits().length, 6, 'a refused change is not recorded');
});

t.test('concurrent changes are applied one after the other, each with its own version', async (t) => {
  const { call, create, audits } = await keyRig(t);
  const { view } = await create();
  const names = Array.from({ length: 12 }, (_, index) => `name ${index}`);
  const answers = await Promise.all(names.map((name) => call('PATCH', `${shop}/${view.id}`, { body: { name } })));
  const versions = answers.map(({ body }) => body.change.version as number);
  t.equal(new Set(versions).size, names.length);
  const last = answers[versions.indexOf(Math.max(...versions))]?.body.name;
  t.equal((await call('GET', `${shop}/${view.id}`)).body.name, last, 'the last version is what stays');
  // Each entry starts where the one before it ended.
  const changes = audits()
    .slice(1)
    .sort((a, b) => Number(a['version']) - Number(b['version']))
    .map(({ changes: keyChanges }) => (keyChanges as { name: { from: string | null; to: string } }).name);
  changes.reduce<string | null>((before, { from, to }) => {
    t.equal(from, before);
    return to;
  }, null);
});
