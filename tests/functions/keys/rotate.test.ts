import t from 'tap';
import { apiKeyDigest, parseApiKey } from '../../../runtime/domain/api-key.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { keyRig, shop, wide } from './rig.ts';

const dayMs = 86_400_000;

t.test('201: the same in all but handle and secret; the old key ends after a day', async (t) => {
  const { call, create, audits, rows, clock, head, log } = await keyRig(t);
  const { view: old } = await create({ name: 'Acme', apps: ['api'], allowedCidrs: ['10.0.0.0/8'] });
  const before = await rows();
  const answer = await call('POST', `${shop}/${old.handle}/rotate`);
  t.equal(answer.status, 201, answer.text);
  const { key, change, replaces, ...view } = answer.body;
  t.same(parseApiKey(key), { handle: view.handle });
  t.not(view.handle, old.handle);
  t.same(view, { ...old, id: view.id, handle: view.handle, createdAt: view.createdAt });
  t.same(change, { version: await head() });
  const endsAt = new Date(clock.now().getTime() + dayMs).toISOString();
  t.same(replaces, { handle: old.handle, expiresAt: endsAt });
  t.same((await call('GET', `${shop}/${old.id}`)).body, {
    ...old,
    expiresAt: endsAt,
    expiryWarning: 'soon',
    replacedBy: view.handle,
  });
  const stored = (await rows()).find(({ id }) => id === view.id);
  t.same(stored?.['digest'], apiKeyDigest(key));
  t.same(stored?.['scope'], before[0]?.['scope']);

  t.match(audits().at(-1), {
    action: 'key.rotate',
    actor: 'admin@svc.local',
    version: change.version,
    apiKey: { handle: old.handle },
    changes: { replacedBy: { from: null, to: view.handle }, expiresAt: { from: null } },
  });
  t.notMatch(log.text(), key.slice('svc_12345678_'.length));
});

t.test('the old key never ends later than without rotation', async (t) => {
  const { call, create } = await keyRig(t);
  const expiresAt = '2026-03-01T18:00:00.000Z';
  const { view: old } = await create({ expiresAt });
  const { body } = await call('POST', `${shop}/${old.id}/rotate`, { body: { graceSeconds: 7 * 86_400 } });
  t.equal(body.replaces.expiresAt, expiresAt);
  t.equal(body.expiresAt, expiresAt, 'the new one has the expiry that the old one had');
  t.equal((await call('GET', `${shop}/${old.id}`)).body.expiresAt, expiresAt);
});

t.test("the new key has the given expiry, or the old key's before its grace", async (t) => {
  const { call, create, clock } = await keyRig(t);
  const first = await create({ expiresAt: '2026-12-31T00:00:00Z' });
  const inherited = await call('POST', `${shop}/${first.view.id}/rotate`, { body: { graceSeconds: 60 } });
  t.equal(inherited.body.expiresAt, '2026-12-31T00:00:00.000Z');
  t.equal(inherited.body.replaces.expiresAt, new Date(clock.now().getTime() + 60_000).toISOString());
  const second = await create();
  const explicit = await call('POST', `${shop}/${second.view.id}/rotate`, {
    body: { expiresAt: '2027-01-01T00:00:00Z' },
  });
  t.equal(explicit.body.expiresAt, '2027-01-01T00:00:00.000Z');
  t.equal((await call('GET', `${shop}/${second.view.id}`)).body.expiresAt, explicit.body.replaces.expiresAt);
});

t.test('a grace of 0 ends the old key at once', async (t) => {
  const { call, create, clock } = await keyRig(t);
  const { view: old } = await create();
  const { body } = await call('POST', `${shop}/${old.id}/rotate`, { body: { graceSeconds: 0 } });
  t.equal(body.replaces.expiresAt, clock.now().toISOString());
  t.equal((await call('GET', `${shop}/${old.id}`)).body.expiryWarning, 'expired');
});

t.test('409: a rotated, expired or disabled key', async (t) => {
  const { call, create, clock, rows, head } = await keyRig(t);
  const rotated = await create();
  const successor = (await call('POST', `${shop}/${rotated.view.id}/rotate`, { body: { graceSeconds: 0 } })).body;
  const disabled = await create();
  await call('PATCH', `${shop}/${disabled.view.id}`, { body: { enabled: false } });
  const expired = await create({ expiresAt: '2026-03-02T00:00:00Z' });
  clock.jump(dayMs);
  const [count, version] = [(await rows()).length, await head()];
  const refusals: [string, string, Record<string, unknown> | undefined][] = [
    [rotated.view.id, 'already_rotated', { successor: successor.handle }],
    [disabled.view.id, 'key_disabled', undefined],
    [expired.view.id, 'key_expired', undefined],
  ];
  for (const [id, code, details] of refusals) {
    const refused = await call('POST', `${shop}/${id}/rotate`);
    t.match(refused, { status: 409, body: { code, ...(details && { details }) } }, code);
  }
  t.equal((await rows()).length, count, 'nothing stays behind');
  t.equal(await head(), version);
  t.equal((await call('POST', `${shop}/${successor.id}/rotate`)).status, 201, 'the successor can be rotated');
  await call('DELETE', `${shop}/${successor.id}`);
  t.notOk('replacedBy' in (await call('GET', `${shop}/${rotated.view.id}`)).body);
});

t.test('exactly one of many concurrent rotations succeeds', async (t) => {
  const { call, create, rows, audits } = await keyRig(t);
  const { view: old } = await create();
  const answers = await Promise.all(Array.from({ length: 8 }, () => call('POST', `${shop}/${old.id}/rotate`)));
  const won = answers.filter(({ status }) => status === 201);
  t.equal(won.length, 1);
  for (const lost of answers.filter(({ status }) => status !== 201)) {
    t.match(lost, { status: 409, body: { code: 'already_rotated', details: { successor: won[0]?.body.handle } } });
  }
  t.equal((await rows()).length, 2);
  t.equal(audits().length, 2);
});

t.test('400, 401, 404 and 422', async (t) => {
  const { call, create, rows } = await keyRig(t);
  const { view } = await create();
  for (const body of [{ graceSeconds: -1 }, { graceSeconds: 90 * 86_400 + 1 }, { graceSeconds: '1d' }, { name: 'x' }]) {
    t.equal((await call('POST', `${shop}/${view.id}/rotate`, { body })).status, 400, JSON.stringify(body));
  }
  t.equal((await call('POST', `${shop}/${view.id}/rotate`, { headers: { authorization: '' } })).status, 401);
  t.equal((await call('POST', `${shop}/${newId()}/rotate`)).status, 404);
  t.equal((await call('POST', `${wide}/${view.id}/rotate`)).status, 404);
  const past = await call('POST', `${shop}/${view.id}/rotate`, { body: { expiresAt: '2026-03-01T11:00:00Z' } });
  t.match(past, { status: 422, body: { code: 'invalid_value', details: { field: 'expiresAt' } } });
  t.equal((await rows()).length, 1);
});
