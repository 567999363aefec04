import type pg from 'pg';
import t from 'tap';
import { createAuthenticate } from '../../../functions/sessions/authenticate.ts';
import { ensureFirstAdmin } from '../../../functions/sessions/first-admin.ts';
import { createDevices } from '../../../functions/sessions/devices.ts';
import { createSessionRoutes } from '../../../functions/sessions/handler.ts';
import { createLastUses } from '../../../functions/sessions/last-uses.ts';
import { createLoginLimit } from '../../../functions/sessions/login-limit.ts';
import { createPasswords } from '../../../functions/sessions/password.ts';
import { route } from '../../../runtime/http/route.ts';
import { recordSessionUse } from '../../../runtime/records/sessions.ts';
import { testApi } from '../../support/api.ts';
import { fakeClock } from '../../support/clock.ts';
import { testKeyRing } from '../../support/key-ring.ts';
import { recordingLog, silentLog } from '../../support/log.ts';
import { testDatabase } from '../../support/postgres.ts';

const email = 'admin@svc.local';
const password = 'correct horse battery';
const path = '/api/v1/session';
const passwords = createPasswords();

const change = route({
  method: 'POST',
  path: '/change',
  access: 'session',
  summary: 'Changes something.',
  tag: 'test',
  replies: { 204: null },
  handle: () => Promise.resolve({ status: 204 }),
});

async function signInService(t: Tap, pool: pg.Pool, baseUrl = 'http://console.test') {
  const clock = fakeClock(new Date());
  const recorded = recordingLog();
  const sessionUses = createLastUses({ clock, log: recorded.log, record: (...use) => recordSessionUse(pool, ...use) });
  const api = await testApi(t, {
    baseUrl,
    authenticate: createAuthenticate({ pool, clock, baseUrl, sessionUses }),
    routes: [
      ...createSessionRoutes({
        pool,
        clock,
        passwords,
        loginLimit: createLoginLimit({ pool, clock }),
        devices: createDevices({ keyRing: testKeyRing(), clock }),
        baseUrl,
      }),
      change,
    ],
    log: recorded.log,
  });
  const login = (body: unknown = { email, password }, headers: Record<string, string> = {}) =>
    api.call('POST', path, { body, headers: { authorization: '', ...headers } });
  return { api, clock, recorded, login, sessionUses };
}

interface Tap {
  teardown(end: () => unknown): void;
}

t.test('sessions', async (t) => {
  const { pool } = await testDatabase(t);
  const passwordFile = `${t.testdir({ password: `${password}\n` })}/password`;
  await Promise.all(
    [1, 2].map(() => ensureFirstAdmin({ pool, passwords, log: silentLog, email: 'Admin@SVC.local', passwordFile })),
  );

  t.test('the first admin is created once, and not again under another name', async (t) => {
    await ensureFirstAdmin({ pool, passwords, log: silentLog, email: 'other@svc.local', passwordFile });
    const { rows } = await pool.query('SELECT email, role, password_hash FROM users');
    t.match(rows, [{ email, role: 'admin', password_hash: /^\$scrypt\$ln=15,r=8,p=1\$/ }]);
    t.equal(rows.length, 1);
  });

  t.test('a user sees the own sessions with their last use, and ends them', async (t) => {
    const { api, clock, login, recorded, sessionUses } = await signInService(t, pool);
    await pool.query('DELETE FROM sessions');
    const sessions = '/api/v1/account/sessions';
    const signIn = async (agent: string) => {
      await clock.advance(1_000);
      const { body } = await login(undefined, { 'user-agent': agent });
      return { authorization: `Bearer ${body.token}` };
    };
    const [first, second, third] = [await signIn('svc/1'), await signIn('curl/8'), await signIn('svc/1')];
    const list = async (headers: Record<string, string>) => (await api.call('GET', sessions, { headers })).body.items;
    await list(first);
    await sessionUses.drain();
    const used = clock.now().toISOString();
    await clock.advance(30_000);
    const items = await list(first);
    t.match(items, [
      { client: 'svc', current: false },
      { current: false },
      { client: 'svc', current: true, lastUsedAt: used },
    ]);
    t.notHas(items[0], 'lastUsedAt');
    t.notHas(items[1], 'client', 'another program');
    await sessionUses.drain();
    t.equal((await list(first))[2].lastUsedAt, used, 'it is written once a minute');
    await clock.advance(31_000);
    await list(first);
    await sessionUses.drain();
    t.equal((await list(first))[2].lastUsedAt, clock.now().toISOString());

    t.equal((await api.call('DELETE', `${sessions}/${items[1].id}`, { headers: first })).status, 204);
    t.equal((await api.call('GET', path, { headers: second })).status, 401, 'its token stops working');
    t.equal((await api.call('DELETE', `${sessions}/${items[1].id}`, { headers: first })).status, 404);
    t.match((await api.call('DELETE', sessions, { headers: first })).body, { ended: 1 });
    t.equal((await api.call('GET', path, { headers: third })).status, 401);
    t.match((await api.call('DELETE', sessions, { headers: first })).body, { ended: 0 });
    t.equal((await list(first)).length, 1);
    const audit = recorded.entries.filter(({ msg }) => msg === 'audit');
    t.match(audit, [
      { action: 'session.end', actor: email, user: { email }, session: items[1].id },
      { action: 'session.end', actor: email, user: { email }, ended: 1 },
    ]);
    t.equal(audit.length, 2, 'what changes nothing has no entry');
    t.equal((await api.call('DELETE', `${sessions}/${items[2].id}`, { headers: first })).status, 204, 'the own one');
    t.equal((await api.call('GET', sessions, { headers: first })).status, 401);
  });

  t.test('201: a login gives a token that works as bearer and as cookie', async (t) => {
    const { api, login, recorded } = await signInService(t, pool);
    const answer = await login({ email: ' ADMIN@svc.local ', password });
    t.equal(answer.status, 201);
    t.match(answer.body, { token: /^svcs_[a-z0-9]{40}$/, email, expiresAt: /Z$/ });
    const attributes = 'Path=/; HttpOnly; SameSite=Strict';
    t.same(answer.headers.getSetCookie(), [
      `svc_session=${answer.body.token}; Max-Age=2592000; ${attributes}`,
      `svc_device=${answer.body.device}; Max-Age=7776000; ${attributes}`,
    ]);
    const bearer = { authorization: `Bearer ${answer.body.token}` };
    t.same((await api.call('GET', path, { headers: bearer })).body, { email, role: 'admin' });
    const byCookie = { authorization: '', cookie: `other=1; svc_session=${answer.body.token}` };
    t.equal((await api.call('GET', path, { headers: byCookie })).status, 200);
    const { rows } = await pool.query('SELECT * FROM sessions');
    t.notMatch(JSON.stringify(rows) + recorded.text(), answer.body.token.slice(5));
    t.notMatch(recorded.text(), password);
  });

  t.test('over https, the cookie is one that no other host can set', async (t) => {
    const { api, login } = await signInService(t, pool, 'https://console.test');
    const answer = await login();
    const attributes = 'Path=/; HttpOnly; SameSite=Strict; Secure';
    t.same(answer.headers.getSetCookie(), [
      `__Host-svc_session=${answer.body.token}; Max-Age=2592000; ${attributes}`,
      `__Host-svc_device=${answer.body.device}; Max-Age=7776000; ${attributes}`,
    ]);
    const status = async (cookie: string) =>
      (await api.call('GET', path, { headers: { authorization: '', cookie } })).status;
    t.equal(await status(`__Host-svc_session=${answer.body.token}`), 200);
    t.equal(await status(`svc_session=${answer.body.token}`), 401, 'a sibling host could have set this one');
    t.equal(answer.headers.get('strict-transport-security'), 'max-age=31536000');
    const { body } = await api.call('GET', '/api/v1/openapi.json');
    t.equal(body.components.securitySchemes.cookie.name, '__Host-svc_session');
  });

  t.test('401: two session cookies, of which another host may have planted one', async (t) => {
    const { api, login } = await signInService(t, pool);
    const [{ token: one }, { token: two }] = [(await login()).body, (await login()).body];
    const call = (cookie: string) => api.call('GET', path, { headers: { authorization: '', cookie } });
    const refused = await call(`svc_session=${one}; a=b; svc_session=${two}`);
    t.match(refused, { status: 401, body: { code: 'unauthenticated', message: /two cookies named svc_session/ } });
    t.equal((await call(`svc_session=${one};svc_session=${one}`)).status, 401);
    t.equal((await call(`xsvc_session=${two}; svc_session=${one}`)).status, 200);
  });

  t.test('401: wrong password, unknown account, no token, another shape, ended session', async (t) => {
    const { api, clock, login } = await signInService(t, pool);
    const wrong = await login({ email, password: 'wrong' });
    const unknown = await login({ email: 'nobody@svc.local', password: 'wrong' });
    t.equal(wrong.status, 401);
    t.equal(wrong.body.code, 'invalid_credentials');
    t.same(unknown.body, wrong.body, 'the answer does not reveal which accounts exist');
    for (const authorization of ['', 'Bearer', 'Bearer x', 'Basic YTpi', `Bearer svcs_${'a'.repeat(40)}`]) {
      const answer = await api.call('GET', path, { headers: { authorization } });
      t.equal(answer.status, 401, authorization);
      t.equal(answer.body.code, 'unauthenticated');
      t.equal(answer.headers.get('www-authenticate'), 'Bearer');
    }
    const { token } = (await login()).body;
    await clock.advance(30 * 24 * 3_600_000 + 1000);
    t.equal((await api.call('GET', path, { headers: { authorization: `Bearer ${token}` } })).status, 401);
  });

  t.test('403: a cookie alone changes nothing from another site', async (t) => {
    const { api, login } = await signInService(t, pool);
    const { token } = (await login()).body;
    const cookie = { authorization: '', cookie: `svc_session=${token}` };
    const send = (headers: Record<string, string>) =>
      api.call('POST', '/api/v1/change', { headers: { ...cookie, ...headers } });
    const post = async (headers: Record<string, string>) => (await send(headers)).status;
    t.match((await send({})).body, { code: 'cross_site' });
    for (const site of ['cross-site', 'same-site', 'none']) {
      t.equal(await post({ 'sec-fetch-site': site }), 403, site);
      t.equal(await post({ 'sec-fetch-site': site, origin: 'http://console.test' }), 403, site);
    }
    t.equal(await post({ 'sec-fetch-site': 'same-origin' }), 204);
    t.equal(await post({ 'sec-fetch-site': 'same-origin', origin: 'http://evil.test' }), 403);
    t.equal(await post({}), 403);
    t.equal(await post({ origin: 'http://evil.test' }), 403);
    t.equal(await post({ origin: 'null' }), 403);
    t.equal(await post({ origin: 'http://console.test' }), 204);
    t.equal(await post({ origin: api.url }), 204, 'through a port-forward');
    t.equal(await post({ origin: 'http://evil.test', authorization: `Bearer ${token}` }), 204, 'no browser sends that');
  });

  t.test(
    '403: a page of another host reads nothing with a cookie, which would be in the name of the user',
    async (t) => {
      const { api, login } = await signInService(t, pool);
      const { token } = (await login()).body;
      const send = (method: string, headers: Record<string, string>) =>
        api.call(method, path, { headers: { authorization: '', cookie: `svc_session=${token}`, ...headers } });
      for (const site of ['same-site', 'cross-site', '', 'same-origin, same-site', 'unknown']) {
        // An image or fetch(…, {mode: 'no-cors', credentials: 'include'}) of a tenant's app; a link is a navigation.
        for (const mode of ['no-cors', 'navigate']) {
          const refused = await send('GET', { 'sec-fetch-site': site, 'sec-fetch-mode': mode });
          t.match(refused, { status: 403, body: { code: 'cross_site' } }, `${site} ${mode}`);
        }
        t.equal((await send('HEAD', { 'sec-fetch-site': site })).status, 403, site);
      }
      t.equal((await send('GET', { 'sec-fetch-site': 'same-origin' })).status, 200, 'the console');
      t.equal((await send('GET', { 'sec-fetch-site': 'none' })).status, 200, 'an address that the user typed');
      t.equal((await send('GET', {})).status, 200, 'a client that is no browser');
      t.equal((await send('GET', { 'sec-fetch-site': 'cross-site', authorization: `Bearer ${token}` })).status, 200);
    },
  );

  t.test('204: a logout ends the session at once', async (t) => {
    const { api, login } = await signInService(t, pool);
    const headers = { authorization: `Bearer ${(await login()).body.token}` };
    const out = await api.call('DELETE', path, { headers });
    t.equal(out.status, 204);
    t.match(out.headers.get('set-cookie'), /^svc_session=; Max-Age=0;/);
    t.equal((await api.call('GET', path, { headers })).status, 401);
  });

  t.test('429: guessing is limited per account and client', async (t) => {
    const { clock, login } = await signInService(t, pool);
    const from = (client: string, word = 'wrong', account = email) =>
      login({ email: account, password: word }, { 'x-forwarded-for': client });
    const answers = await Promise.all(Array.from({ length: 12 }, () => from('9.9.9.9')));
    t.equal(answers.filter(({ status }) => status === 401).length, 10);
    const refused = answers.find(({ status }) => status === 429);
    t.equal(refused?.body.code, 'too_many_requests');
    t.equal(refused?.headers.get('retry-after'), '90');
    t.match(refused?.body.message, 'Try again in 90 seconds.');
    t.equal((await from('9.9.9.9', password)).status, 429, 'the correct one as well');
    t.equal((await from('8.8.8.8', password)).status, 201, 'another client is not limited');
    await clock.advance(90_000);
    t.equal((await from('9.9.9.9', password)).status, 201);
  });

  t.test('a form of another site cannot sign a user in', async (t) => {
    const { api } = await signInService(t, pool);
    const headers = { authorization: '', 'content-type': 'text/plain', origin: 'http://evil.test' };
    const answer = await api.call('POST', path, { body: JSON.stringify({ email, password }), headers });
    t.equal(answer.status, 415);
    t.equal(answer.headers.get('set-cookie'), null);
  });

  t.test('400: a login needs both fields', async (t) => {
    const { login } = await signInService(t, pool);
    t.equal((await login({ email })).body.code, 'invalid_request');
    t.equal((await login({ email, password, more: 1 })).status, 400);
  });

  t.end();
});

t.test('password hashes have a salt, and only the right password verifies', async (t) => {
  const account = 'dana@svc.local';
  const first = await passwords.hash('pass word', account);
  t.not(first, await passwords.hash('pass word', account));
  t.equal(await passwords.verify('pass word', first, account), true);
  t.equal(await passwords.verify('pass  word', first, account), false);
  t.equal(await passwords.verify('pass word', undefined, account), false);
  await t.rejects(passwords.verify('x', 'plain', account));
});

t.test('a first admin needs a password of some length, and a file', async (t) => {
  const { pool } = await testDatabase(t);
  const passwordFile = `${t.testdir({ password: 'short' })}/password`;
  await t.rejects(ensureFirstAdmin({ pool, passwords, log: silentLog, email, passwordFile }), /12 to 1024 characters/);
  await ensureFirstAdmin({ pool, passwords, log: silentLog, email });
  t.same((await pool.query('SELECT 1 FROM users')).rowCount, 0);
});
