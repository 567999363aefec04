import { once } from 'node:events';
import { setImmediate } from 'node:timers/promises';
import t from 'tap';
import { createAuthenticate } from '../../functions/sessions/authenticate.ts';
import { createDevices } from '../../functions/sessions/devices.ts';
import { createSessionRoutes } from '../../functions/sessions/handler.ts';
import { createLoginLimit } from '../../functions/sessions/login-limit.ts';
import { createPasswords, type Passwords, type Verify } from '../../functions/sessions/password.ts';
import type { Caller } from '../../functions/sessions/password-turns.ts';
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
async function world(t: { teardown(end: () => unknown): void }, replaced: Partial<Passwords> = {}) {
  const { pool } = await testDatabase(t);
  const clock = fakeClock(new Date());
  const callers: Caller[] = [];
  const passwords = {
    hash: (text: string) => Promise.resolve(text),
    verify: (text: string, stored: string | undefined) => Promise.resolve(text === stored),
    signIn: <T>(caller: Caller, work: (verify: (text: string, stored?: string) => Promise<boolean>) => Promise<T>) => {
      callers.push(caller);
      return work((text, stored) => Promise.resolve(text === stored));
    },
    ...replaced,
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
  return { pool, api, clock, signIn, guess, callers };
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

t.test(
  'a /48 of IPv6 has one place in the order of turns, whatever its addresses, and a device its account',
  async (t) => {
    const { signIn, callers } = await world(t);
    const { device } = (await signIn('dana', '2001:db8:1:ff::1')).body;
    await signIn('erin', '2001:db8:1:100::1');
    await signIn('dana', '2001:db8:2::1', { device });
    const network = '2001:db8:1';
    t.same(callers, [{ network }, { network }, { known: 'dana@svc.local' }]);
  },
);

/** Passwords whose hashing waits until the test ends it: `running` names those that are being hashed, by the password. */
function heldPasswords() {
  const started = new Map<string, () => void>();
  const pauses: (() => void)[] = [];
  const begun: string[] = [];
  const passwords = createPasswords({
    derive: (name, _salt, bytes) =>
      new Promise((resolve) => {
        started.set(name, () => resolve(Buffer.alloc(bytes)));
      }),
    pause: () => new Promise((resolve) => pauses.push(resolve)),
  });
  return {
    /** @param network of a stranger; undefined for a known device @param account of that */
    signIn: (name: string, network?: string, account = 'dana@svc.local', signal?: AbortSignal) => {
      const work = (verify: Verify) => {
        begun.push(name);
        return verify(name, undefined);
      };
      return passwords.signIn(network === undefined ? { known: account } : { network }, work, signal);
    },
    begun: () => begun,
    running: () => [...started.keys()],
    endPause: async () => {
      pauses.shift()?.();
      await setImmediate();
    },
    end: async (name: string) => {
      started.get(name)?.();
      started.delete(name);
      // The next one starts in a microtask.
      await setImmediate();
    },
  };
}

t.test('a queue full of strangers does not keep out a known device', async (t) => {
  const { signIn, begun, running, end, endPause } = heldPasswords();
  const strangers = Array.from({ length: 21 }, (_, index) => signIn(`stranger ${index}`, 'a'));
  await t.rejects(signIn('another stranger', 'a'), { code: 'too_many_requests' });
  t.same(begun(), ['stranger 0'], 'what waits or is refused costs nothing else');
  const member = signIn('known');
  await setImmediate();
  t.same(running(), ['stranger 0', 'known']);
  await end('known');
  await member;
  for (const index of strangers.keys()) {
    await end(`stranger ${index}`);
    await endPause();
  }
  await Promise.all(strangers);
});

t.test('a sign-in whose client has disconnected has no turn', async (t) => {
  const { signIn, begun, end, endPause } = heldPasswords();
  const client = new AbortController();
  const ofClient = () => signIn('gone', 'b', undefined, client.signal);
  const [first, gone, next] = [signIn('first', 'a'), ofClient(), signIn('next', 'c')];
  const refusal = t.rejects(gone, { code: 'too_many_requests' });
  client.abort();
  await refusal;
  await end('first');
  await endPause();
  await end('next');
  await Promise.all([first, next]);
  await t.rejects(ofClient(), { code: 'too_many_requests' });
  t.same(begun(), ['first', 'next']);
});

t.test('the API learns that the client of a sign-in has disconnected', async (t) => {
  const begun = Promise.withResolvers<AbortSignal | undefined>();
  const ended = Promise.withResolvers<never>();
  const { api } = await world(t, {
    signIn(_caller, _work, signal) {
      begun.resolve(signal);
      return ended.promise;
    },
  });
  const client = new AbortController();
  const call = fetch(`${api.url}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'dana@svc.local', password }),
    signal: client.signal,
  });
  const signal = await begun.promise;
  const disconnected = signal && once(signal, 'abort');
  t.ok(disconnected, 'the sign-in gets a signal');
  client.abort();
  await t.rejects(call);
  await disconnected;
  ended.reject(new Error('nobody waits for it'));
});

t.test('a dozen networks full of guesses do not keep out a stranger from another one', async (t) => {
  const { signIn, running, end, endPause } = heldPasswords();
  const refused: unknown[] = [];
  const guesses = Array.from({ length: 12 * 30 }, (_, index) =>
    signIn(`guess ${index}`, `network ${index % 12}`).catch((error: unknown) => refused.push(error)),
  );
  await setImmediate();
  const honest = signIn('honest', 'another network');
  let ended = 0;
  while (!running().includes('honest') && ended <= 12) {
    const [current = ''] = running();
    await end(current);
    await endPause();
    ended++;
  }
  t.ok(running().includes('honest'), `it had its turn after ${ended} guesses, at most one of each network`);
  while (running().length > 0) {
    await end(running()[0] ?? '');
    await endPause();
  }
  await Promise.all([honest, ...guesses]);
  t.equal(refused.length, 12 * 30 - 65 + 1, '64 wait, one of which made room');
});

t.test('one account with many sign-ins keeps out neither another account nor a stranger', async (t) => {
  const { signIn, begun, running, end } = heldPasswords();
  const refused: unknown[] = [];
  const isRefused = (error: unknown) => refused.push(error);
  const flood = Array.from({ length: 45 }, (_, index) => signIn(`flood ${index}`).catch(isRefused));
  await setImmediate();
  t.equal(refused.length, 40, 'two run and three wait');
  const others = [signIn('erin', undefined, 'erin@svc.local'), signIn('stranger', 'a')];
  for (let more = 0; running().length > 0; more++) {
    await end(running()[0] ?? '');
    // The flood goes on.
    if (more < 10) flood.push(signIn(`more ${more}`).catch(isRefused));
  }
  await Promise.all([...others, ...flood]);
  t.same(begun().slice(0, 6), ['flood 0', 'flood 1', 'flood 2', 'erin', 'stranger', 'flood 3']);
});

t.test('forty accounts that wait do not keep out another one', async (t) => {
  const { signIn, running, end } = heldPasswords();
  const refused: unknown[] = [];
  const ofAccount = (index: number) =>
    signIn(`account ${index}`, undefined, `${index}@svc.local`).catch((error: unknown) => refused.push(error));
  const all = Array.from({ length: 42 }, (_, index) => ofAccount(index));
  await setImmediate();
  t.same(refused, []);
  const last = signIn('last', undefined, 'last@svc.local');
  await setImmediate();
  t.equal(refused.length, 1, 'one of those that wait makes room');
  while (running().length > 0) await end(running()[0] ?? '');
  await Promise.all([last, ...all]);
});

t.test(
  'guesses take a part of one processor: they wait for each other and pause, a known device for neither',
  async (t) => {
    const { signIn, running, end, endPause } = heldPasswords();
    const all = Promise.all([signIn('guess', 'a'), signIn('another guess', 'b'), signIn('known')]);
    await setImmediate();
    t.same(running(), ['guess', 'known']);
    await end('known');
    t.same(running(), ['guess'], 'the free place is not for guesses');
    await end('guess');
    t.same(running(), [], 'a pause');
    const late = signIn('late');
    await setImmediate();
    t.same(running(), ['late']);
    await end('late');
    await late;
    await endPause();
    t.same(running(), ['another guess']);
    await end('another guess');
    await all;
  },
);

t.test('on a busy machine, where a hash takes longer, the pauses between strangers do not grow', async (t) => {
  const clock = { ms: 0 };
  // The first one fails at once, which tells nothing of the work of a hash.
  const hashes = [0, 100, 900, 150];
  const pauses: number[] = [];
  const passwords = createPasswords({
    derive: async (_password, _salt, bytes) => {
      await setImmediate();
      const ms = hashes.shift() ?? 0;
      if (ms === 0) throw new Error('out of memory');
      clock.ms += ms;
      return Buffer.alloc(bytes);
    },
    pause: async (ms) => void pauses.push(ms),
    nowMs: () => clock.ms,
  });
  const signIn = (network: string) => passwords.signIn({ network }, (verify) => verify('password', undefined));
  await t.rejects(signIn('a'), { message: 'out of memory' });
  await Promise.all(['a', 'b', 'c'].map(signIn));
  t.same(pauses, [700, 700], 'seven times the fastest hash, while another one waits');
});

t.test('sessions of another user cannot be seen or ended, and no token of a session is shown', async (t) => {
  const { api, signIn } = await world(t);
  const path = '/api/v1/account/sessions';
  const tokens = await Promise.all(
    ['dana', 'dana', 'erin'].map(async (name) => (await signIn(name, '198.51.100.1')).body.token),
  );
  const [dana, other, erin] = tokens.map((token: string) => ({ authorization: `Bearer ${token}` }));
  const list = async (headers = dana) => (await api.call('GET', path, { ...(headers && { headers }) })).body.items;
  const [victim] = await list(erin);
  t.equal((await list()).length, 2);
  t.notMatch(JSON.stringify(await list()), victim.id);
  for (const id of [victim.id, newId(), 'x', tokens[2] as string, '%00']) {
    const refused = await api.call('DELETE', `${path}/${id}`, { headers: dana ?? {} });
    t.ok([400, 404].includes(refused.status), `${id}: ${refused.status}`);
    t.notMatch(refused.text, tokens[2]);
  }
  t.match((await api.call('GET', `${path}?cursor=${victim.id}`, { headers: dana ?? {} })).body.items, []);
  t.match(await api.call('DELETE', path, { headers: dana ?? {} }), { status: 200, body: { ended: 1 } });
  t.equal((await api.call('GET', path, { headers: other ?? {} })).status, 401);
  t.match(await list(erin), [{ id: victim.id, current: true }]);
  const shown = JSON.stringify([await list(), await list(erin)]);
  for (const token of tokens) t.notMatch(shown, token);
});

t.test('of a User-Agent header, only the browser and the system are stored', async (t) => {
  const { pool, api } = await world(t);
  const mark = 'Mozilla/5.0 (X11; Linux x86_64; private-mark) Gecko/20100101 Firefox/140.0';
  await api.call('POST', '/api/v1/session', {
    body: { email: 'dana@svc.local', password },
    headers: { authorization: '', 'user-agent': mark },
  });
  const { rows } = await pool.query('SELECT * FROM sessions');
  t.match(rows, [{ client: 'Firefox on Linux' }]);
  t.notMatch(JSON.stringify(rows), /private-mark|Firefox\/140|Gecko/);
});
