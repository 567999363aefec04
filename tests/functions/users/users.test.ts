import type { Pool } from 'pg';
import t from 'tap';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { createDevices } from '../../../functions/sessions/devices.ts';
import { createSessionRoutes } from '../../../functions/sessions/handler.ts';
import { createLoginLimit } from '../../../functions/sessions/login-limit.ts';
import { createPasswords } from '../../../functions/sessions/password.ts';
import { createUserRoutes } from '../../../functions/users/handler.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { updateUser } from '../../../runtime/records/users.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { testKeyRing } from '../../support/key-ring.ts';
import { recordingLog } from '../../support/log.ts';
import { seedProject } from '../../support/objects.ts';
import { signedIn } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';

const path = '/api/v1/users';
const baseUrl = 'http://console.test';
const password = 'correct horse battery';
const day = 24 * 3_600_000;

async function service(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date());
  const passwords = createPasswords();
  const loginLimit = createLoginLimit({ pool, clock });
  const kube = fakeKube();
  const recorded = recordingLog();
  const api = await testApi(t, {
    log: recorded.log,
    authenticate: createAuthenticate({ pool, clock, baseUrl }),
    routes: [
      ...createSessionRoutes({
        pool,
        clock,
        passwords,
        loginLimit,
        devices: createDevices({ keyRing: testKeyRing(), clock }),
        baseUrl,
      }),
      ...createUserRoutes({ pool, kube, clock, passwords, loginLimit }),
    ],
  });
  const boss = await signedIn(pool, 'boss', { role: 'admin' });
  const as = (headers: Record<string, string>) => (method: string, at: string, body?: unknown) =>
    api.call(method, at, { headers, ...(body !== undefined && { body }) });
  const login = (email: string, word: string) =>
    api.call('POST', '/api/v1/session', { headers: { authorization: '' }, body: { email, password: word } });
  const enter = async (email: string, word: string) =>
    as({ authorization: `Bearer ${(await login(email, word)).body.token}` });
  return { pool, kube, clock, recorded, boss, call: as(boss.headers), as, login, enter };
}

const sessions = async (pool: Pool, email: string) =>
  (await pool.query('SELECT 1 FROM sessions JOIN users ON users.id = user_id WHERE email = $1', [email])).rowCount;

t.test('a one-time password only allows choosing a new one, for a limited time', async (t) => {
  const { clock, recorded, call, login, enter } = await service(t);
  const created = await call('POST', path, { email: ' Dana@Example.com ' });
  t.equal(created.status, 201);
  t.match(created.body, {
    email: 'dana@example.com',
    role: 'member',
    status: 'invited',
    passwordExpiresAt: /Z$/,
    oneTimePassword: /^([a-z2-9]{5}-){3}[a-z2-9]{5}$/,
  });
  const { oneTimePassword, email } = created.body;
  const entered = await login(email, oneTimePassword);
  t.match(entered.body, { passwordChangeRequired: true });
  const dana = await enter(email, oneTimePassword);
  t.match((await dana('GET', '/api/v1/session')).body, { email, role: 'member', passwordChangeRequired: true });
  t.match((await dana('GET', path)).body, { code: 'password_change_required' });
  const change = (newPassword: string, currentPassword = oneTimePassword) =>
    dana('PUT', `${path}/me/password`, { currentPassword, newPassword });
  t.match((await change('short')).body, { code: 'invalid_value', details: { field: 'newPassword' } });
  t.match((await change(oneTimePassword)).body, { code: 'invalid_value' });
  t.match((await change(password, 'wrong')).body, { code: 'invalid_value', details: { field: 'currentPassword' } });
  t.equal((await change(password)).status, 204);
  t.same((await dana('GET', '/api/v1/session')).body, { email, role: 'member' }, 'this session stays');
  t.equal((await login(email, oneTimePassword)).status, 401);
  t.notHas((await login(email, password)).body, 'passwordChangeRequired');
  t.match((await call('GET', `${path}/${email}`)).body, { status: 'active', passwordExpiresAt: undefined });

  const late = (await call('POST', path, { email: 'late@example.com' })).body;
  await clock.advance(7 * day);
  t.equal((await login(late.email, late.oneTimePassword)).status, 401);
  for (const secret of [oneTimePassword, password, late.oneTimePassword]) t.notMatch(recorded.text(), secret);
  t.match(
    recorded.entries.filter(({ msg }) => msg === 'audit'),
    [
      { action: 'user.create', actor: 'boss@svc.local', user: { email }, changes: { role: 'member' } },
      { action: 'user.password.change', actor: email },
      { action: 'user.create' },
    ],
  );
});

t.test('a password given by the admin is not a one-time password', async (t) => {
  const { call, login } = await service(t);
  const creation = await call('POST', path, { email: 'ci@example.com', password, role: 'admin' });
  t.match(creation.body, { role: 'admin', status: 'active', oneTimePassword: undefined });
  t.equal((await login('ci@example.com', password)).status, 201);
  t.match((await call('POST', path, { email: 'CI@example.com', password })).body, { code: 'already_exists' });
  for (const body of [{ email: 'x' }, { email: 'a b@c' }, { email: 'a@b', password: 'short' }]) {
    t.match((await call('POST', path, body)).body, { code: 'invalid_value' }, JSON.stringify(body));
  }
});

t.test('users are listed in pages, and found by address and id', async (t) => {
  const { pool, call, boss } = await service(t);
  for (const name of ['c', 'a', 'd']) await signedIn(pool, name);
  const first = (await call('GET', `${path}?limit=3`)).body;
  t.same(
    first.items.map((user: { email: string }) => user.email),
    ['a@svc.local', 'boss@svc.local', 'c@svc.local'],
  );
  const rest = (await call('GET', `${path}?limit=3&cursor=${first.nextCursor}`)).body;
  t.match(rest, { items: [{ email: 'd@svc.local' }], nextCursor: undefined });
  t.equal((await call('GET', `${path}/${boss.id}`)).body.email, boss.email);
  t.equal((await call('GET', `${path}/BOSS@svc.local`)).body.id, boss.id);
  for (const method of ['GET', 'DELETE']) t.equal((await call(method, `${path}/nobody@svc.local`)).status, 404);
  t.equal((await call('PATCH', `${path}/nobody@svc.local`, { disabled: true })).status, 404);
  t.equal((await call('PATCH', `${path}/a@svc.local`, {})).status, 400);
});

t.test('a user is shown with the projects that would be left without an admin', async (t) => {
  const { pool, kube, call } = await service(t);
  const [shop, blog, wiki, docs] = [newId(), newId(), newId(), newId()];
  for (const [name, id] of Object.entries({ shop, blog, wiki, docs })) seedProject(kube, { name, id });
  const dana = await signedIn(pool, 'dana', {
    projects: { [shop]: 'admin', [blog]: 'admin', [wiki]: 'admin', [docs]: 'viewer' },
  });
  const off = await signedIn(pool, 'off', { projects: { [shop]: 'admin' } });
  await signedIn(pool, 'eve', { projects: { [blog]: 'admin', [wiki]: 'deployer', [docs]: 'admin' } });
  await pool.query('UPDATE users SET disabled_at = now() WHERE id = $1', [off.id]);
  t.same((await call('GET', `${path}/${dana.id}`)).body.onlyAdminOf, ['shop', 'wiki']);
  t.same((await call('GET', `${path}/eve@svc.local`)).body.onlyAdminOf, ['docs']);
  t.same((await call('GET', `${path}/boss@svc.local`)).body.onlyAdminOf, []);
});

t.test('a user who is disabled, deleted or reset is signed out at once', async (t) => {
  const { pool, call, as, login } = await service(t);
  const dana = await signedIn(pool, 'dana');
  const alive = async (who: { headers: Record<string, string> }) =>
    (await as(who.headers)('GET', '/api/v1/session')).status;
  await call('POST', `${path}/dana@svc.local/password`, { password });
  t.equal(await alive(dana), 401, 'reset');
  const { token } = (await login('dana@svc.local', password)).body;
  const sameSession = { headers: { authorization: `Bearer ${token}` } };
  t.equal(await alive(sameSession), 200);
  t.match((await call('PATCH', `${path}/dana@svc.local`, { disabled: true })).body, { status: 'disabled' });
  t.equal(await alive(sameSession), 401, 'disabled');
  const refused = await login('dana@svc.local', password);
  t.same([refused.status, refused.body], [401, (await login('nobody@svc.local', password)).body]);
  await call('PATCH', `${path}/dana@svc.local`, { disabled: false });
  t.equal(await alive(sameSession), 401, 'enabled again: the old session stays ended');
  t.equal((await login('dana@svc.local', password)).status, 201);
  t.equal((await call('DELETE', `${path}/dana@svc.local`)).status, 204);
  t.equal(await sessions(pool, 'dana@svc.local'), 0);
  t.equal((await login('dana@svc.local', password)).status, 401);
  const reset = await call('POST', `${path}/boss@svc.local/password`);
  t.match(reset.body, { status: 'invited', oneTimePassword: /-/ });
});

t.test('changing the password ends the other sessions, and cannot be used for guessing', async (t) => {
  const { pool, call, enter } = await service(t);
  await call('POST', path, { email: 'dana@svc.local', password });
  const [one, other] = [await enter('dana@svc.local', password), await enter('dana@svc.local', password)];
  const newPassword = 'another long password';
  const statuses: number[] = [];
  for (let index = 0; index < 11; index++) {
    const body = { currentPassword: `wrong ${index}`, newPassword };
    statuses.push((await one('PUT', `${path}/me/password`, body)).status);
  }
  t.same([...new Set(statuses)], [422, 429]);
  t.equal((await call('POST', path, { email: 'new@svc.local', password: 'password1234' })).status, 422);
  await pool.query('DELETE FROM login_attempts');
  t.equal((await one('PUT', `${path}/me/password`, { currentPassword: password, newPassword })).status, 204);
  t.equal((await one('GET', '/api/v1/session')).status, 200);
  t.equal((await other('GET', '/api/v1/session')).status, 401);
});

t.test('the last admin of the platform stays, even under concurrent changes', async (t) => {
  const { pool, call, boss } = await service(t);
  const refused = { status: 409, body: { code: 'last_admin' } };
  t.match(await call('DELETE', `${path}/${boss.id}`), refused);
  t.match(await call('PATCH', `${path}/${boss.id}`, { role: 'member' }), refused);
  t.match(await call('PATCH', `${path}/${boss.id}`, { disabled: true }), refused);
  const others = [];
  for (const name of ['a', 'b', 'c']) others.push(await signedIn(pool, name, { role: 'admin' }));
  t.equal((await call('PATCH', `${path}/${others[0]?.id}`, { disabled: true })).status, 200);
  // A disabled admin does not count.
  const answers = await Promise.all([
    call('PATCH', `${path}/${others[1]?.id}`, { role: 'member' }),
    call('DELETE', `${path}/${others[2]?.id}`),
  ]);
  t.same(
    answers.map(({ status }) => status),
    [200, 204],
  );
  t.match(await call('DELETE', `${path}/${boss.id}`), refused);
  const heir = await signedIn(pool, 'heir', { role: 'admin' });
  // Below the API, which would refuse a user who is no longer an admin.
  const race = await Promise.allSettled(
    [heir, boss].map(({ id }) => updateUser(pool, id, { role: 'member' }, new Date())),
  );
  t.same(race.map(({ status }) => status).sort(), ['fulfilled', 'rejected']);
  t.match(
    race.find(({ status }) => status === 'rejected'),
    { reason: { code: 'last_admin' } },
  );
});
