import t from 'tap';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createDevices } from '../../functions/sessions/devices.ts';
import { createSessionRoutes } from '../../functions/sessions/handler.ts';
import { createLoginLimit } from '../../functions/sessions/login-limit.ts';
import { createPasswords } from '../../functions/sessions/password.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { insertUser } from '../../runtime/records/users.ts';
import { testApi } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { testKeyRing } from '../support/key-ring.ts';
import { testDatabase } from '../support/postgres.ts';

const password = 'correct horse battery';
const baseUrl = 'http://console.test';
const day = 24 * 3_600_000;

/** A console with two users, whose password hashing is replaced where only the limits matter. */
async function world(t: { teardown(end: () => unknown): void }) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date());
  const passwords = {
    hash: (text: string) => Promise.resolve(text),
    verify: (text: string, stored: string | undefined) => Promise.resolve(text === stored),
  };
  for (const name of ['dana', 'erin']) {
    const user = { id: newId(), email: `${name}@svc.local`, passwordHash: password, role: 'member' } as const;
    await insertUser(pool, { ...user, oneTimeUntil: null });
  }
  const api = await testApi(t, {
    authenticate: createAuthenticate({ pool, clock, baseUrl }),
    routes: createSessionRoutes({
      pool,
      clock,
      passwords,
      loginLimit: createLoginLimit({ pool, clock }),
      devices: createDevices({ keyRing: testKeyRing(), clock }),
      baseUrl,
    }),
  });
  const signIn = (name: string, from: string, more: { word?: string; device?: string; cookie?: string } = {}) =>
    api.call('POST', '/api/v1/session', {
      body: {
        email: `${name}@svc.local`,
        password: more.word ?? password,
        ...(more.device && { device: more.device }),
      },
      headers: { authorization: '', 'x-forwarded-for': from, ...(more.cookie && { cookie: more.cookie }) },
    });
  const guess = async (name: string, from: string, times: number, more: { device?: string } = {}) => {
    for (let index = 0; index < times; index++) await signIn(name, from, { ...more, word: `wrong ${index}` });
  };
  return { clock, signIn, guess };
}

t.test('guesses from the same address do not lock out a device that signed in before', async (t) => {
  const { clock, signIn, guess } = await world(t);
  const { device } = (await signIn('dana', '9.9.9.9')).body;
  const { device: ofErin } = (await signIn('erin', '9.9.9.9')).body;
  await guess('dana', '9.9.9.9', 200);
  const status = async (more: Parameters<typeof signIn>[2]) => (await signIn('dana', '9.9.9.9', more)).status;
  t.equal(await status({}), 429, 'a stranger waits');
  t.equal(await status({ device }), 201, 'the device does not');
  t.equal(await status({ cookie: `svc_device=${device}` }), 201, 'nor does the browser');
  t.equal(await status({ cookie: `svc_device=${ofErin}; svc_device=${device}` }), 429, 'one of two may be planted');
  t.equal(await status({ device: ofErin }), 429, 'a device of another user is a stranger');
  t.equal(await status({ device: `${device}x` }), 429, 'an altered token');
  t.equal(await status({ device: 'v1.k1.a.b' }), 429, 'an invented token');
  await clock.advance(90_000);
  t.equal(await status({}), 201, 'a stranger waits for 90 seconds at most');
  await guess('dana', '9.9.9.9', 200);
  await clock.advance(90 * day + 1);
  await guess('dana', '9.9.9.9', 200);
  t.equal(await status({ device }), 429, 'after 90 days without a sign-in, the device is a stranger');
});

t.test('behind an ingress that hides addresses, guesses for one account do not lock out the others', async (t) => {
  const { signIn, guess } = await world(t);
  const hidden = '10.42.0.1';
  const { device } = (await signIn('dana', hidden)).body;
  await guess('dana', hidden, 300);
  t.equal((await signIn('dana', hidden)).status, 429);
  t.equal((await signIn('erin', hidden)).status, 201, 'a user without a device');
  t.equal((await signIn('dana', hidden, { device })).status, 201);
});

t.test('a stolen device token is no way around the limit', async (t) => {
  const { signIn, guess } = await world(t);
  const { device } = (await signIn('dana', '9.9.9.9')).body;
  await guess('dana', '8.8.8.8', 10, { device });
  t.equal((await signIn('dana', '8.8.8.8', { device })).status, 429);
  t.equal((await signIn('dana', '8.8.8.8')).status, 201, 'it does not count against strangers');
});

t.test('a queue full of strangers does not keep out a known device', async (t) => {
  const passwords = createPasswords();
  const stored = await passwords.hash(password);
  const order: string[] = [];
  const verify = async (name: string, known: boolean) => {
    const matches = await passwords.verify(password, stored, { known });
    order.push(name);
    return matches;
  };
  const strangers = Array.from({ length: 21 }, (_, index) => verify(`stranger ${index}`, false));
  await t.rejects(verify('another stranger', false), { code: 'too_many_requests' });
  t.equal(await verify('known', true), true);
  t.ok(order.length <= 5, `after ${order.length - 1} of 21`);
  await Promise.all(strangers);
});

t.test('guesses take one processor: two of them wait for each other, a known device for neither', async (t) => {
  const passwords = createPasswords();
  const stored = await passwords.hash(password);
  const order: string[] = [];
  const verify = async (name: string, known: boolean) => {
    await passwords.verify(password, stored, { known });
    order.push(name);
  };
  await Promise.all([verify('guess', false), verify('another guess', false), verify('known', true)]);
  t.equal(order.at(-1), 'another guess');
});
