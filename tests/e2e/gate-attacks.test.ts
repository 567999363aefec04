import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { figureLine } from '../bench/figure.ts';
import { requestThroughIngress } from '../../infra/demo/ingress.ts';
import { allKnow } from '../support/checkers.ts';
import { eventually, runningPlatform, testProject, type Answer } from '../support/platform.ts';
import { forged, forgeries } from '../support/header-spellings.ts';
import { sendRaw, sentRaw } from '../support/raw-request.ts';
import { targetOf } from '../support/target/target.ts';

/** Attacks on the gate through the real ingress. Each test's name says the required result. */
const platform = await runningPlatform();
const image = 'localhost:5000/svc/hello:v1';
const ingress = new URL(platform.info.ingress);

t.teardown(() => t.comment(figureLine({ name: 'gate-attacks.raw', value: sentRaw.requests, unit: 'requests' })));
const { flags, namespace } = await testProject(t, platform);
for (const app of ['api', 'other']) {
  await platform.ok(['app', 'create', app, '--image', image, ...flags]);
  await platform.ok(['app', 'gate', 'enable', app, ...flags]);
}
await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...flags]);
const newKey = (...more: string[]) => platform.ok(['key', 'create', '--plan', 'wide', ...more, ...flags]);
const handleOf = (key: string) => key.split('_')[1] ?? '';
const { url, id } = await platform.json<{ url: string; id: string }>(['app', 'show', 'api', ...flags]);
const other = await platform.json<{ url: string; id: string }>(['app', 'show', 'other', ...flags]);
const host = new URL(url).host;
const key = await newKey();
const ask = (headers: Record<string, string | string[]> = {}, method = 'GET') =>
  platform.request(url, { method, headers });
const seenBy = (answer: Answer) => answer.json()['headers'] as Record<string, string>;

await eventually(
  () => ask(),
  ({ status }) => status === 401,
);
const waitForKey = (sent: string, app = id) => allKnow(platform, app, sent);
await waitForKey(key);

/** Sends these bytes, whose last request closes the connection; answers are compared without their Date. */
async function exchange(bytes: string): Promise<string> {
  const answer = await sendRaw(ingress, bytes, 60_000);
  return answer.replace(/^Date: .*\r\n/gm, '');
}

t.test('1: no spelling of a header that the gate sets reaches the app from the client', async (t) => {
  const sent = forgeries();
  const answer = await ask({ ...sent, 'X-API-Key': key });
  t.equal(answer.status, 200);
  t.notMatch(answer.body, forged);
  t.notMatch(answer.body, key);
  const headersAtApp = seenBy(answer);
  t.equal(headersAtApp['x-svc-key-prefix'], handleOf(key));
  t.equal(headersAtApp['x-svc-key-name'], undefined, 'a key without a name');

  await t.test('a preflight passes without a key, but carries no forged gate header to the app', async (t) => {
    const preflight = await ask({ ...sent, 'Access-Control-Request-Method': 'GET' }, 'OPTIONS');
    t.equal(preflight.status, 200);
    t.notMatch(preflight.body, forged);
    t.equal(seenBy(preflight)['x-svc-key-prefix'], undefined);
  });

  await t.test('no forged gate header reaches the app over HTTP/2', async (t) => {
    const session = connectHttp2(platform.info.ingress);
    t.teardown(() => session.close());
    const lower = Object.entries(sent).map(([name, value]) => [name.toLowerCase(), value]);
    const stream = session.request({ ':authority': host, 'x-api-key': key, ...Object.fromEntries(lower) });
    const answer = once(stream, 'response') as Promise<[{ ':status': number }]>;
    if (platform.info.target === 'local') {
      session.on('error', () => undefined);
      await t.rejects(answer, 'the embedded ingress speaks HTTP/1.1 only');
      return;
    }
    const [head] = await answer;
    const body = await text(stream);
    t.equal(head[':status'], 200);
    t.notMatch(body, forged);
    t.match(body, `"x-svc-key-prefix":"${handleOf(key)}"`);
  });

  await t.test('no forged gate header reaches the app in trailers', async (t) => {
    const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\nConnection: close\r\n`;
    const chunked = 'Transfer-Encoding: chunked\r\nTrailer: X-Svc-Key-Name\r\n\r\n1\r\na\r\n0\r\n';
    const reply = await exchange(`${head}${chunked}X-Svc-Key-Name: ${forged}\r\n\r\n`);
    t.match(reply, /^HTTP\/1\.1 200 /);
    t.notMatch(reply, forged);
  });
});

t.test('2: Connection removes no header that the gate sets, and removing the key itself denies', async (t) => {
  for (const listed of ['X-Svc-Key-Prefix', 'close, x-svc-key-prefix, X-Svc-Key-Name', 'X-Forwarded-For']) {
    const answer = await ask({ 'X-API-Key': key, Connection: listed });
    t.equal(answer.status, 200, listed);
    t.equal(seenBy(answer)['x-svc-key-prefix'], handleOf(key), listed);
  }
  t.equal((await ask({ 'X-API-Key': key, Connection: 'X-API-Key' })).status, 401);
});

t.test('3: forwarded headers of a client change no verdict', async (t) => {
  const claims = {
    'X-Forwarded-Method': 'OPTIONS',
    'X-Forwarded-Uri': `/authorize?app=${other.id}`,
    'X-Forwarded-Host': new URL(other.url).host,
    'X-Forwarded-Proto': 'https',
    'X-HTTP-Method-Override': 'OPTIONS',
    'Access-Control-Request-Method': 'GET',
    Origin: 'https://example.com',
  };
  const scoped = await newKey('--app', 'other');
  await waitForKey(scoped, other.id);
  for (const method of ['GET', 'POST', 'DELETE']) {
    t.equal((await ask(claims, method)).status, 401, method);
    t.equal((await ask({ ...claims, 'X-API-Key': scoped }, method)).status, 401, `${method} with another app's key`);
    t.equal((await ask({ ...claims, 'X-API-Key': key }, method)).status, 200, `${method} with a key`);
  }

  const near = await newKey('--allow', '127.0.0.0/8');
  const far = await newKey('--allow', '203.0.113.0/24');
  await t.test('forwarded headers do not satisfy the address limit of a key', async (t) => {
    const chains = ['203.0.113.7', '203.0.113.7, 127.0.0.1', '127.0.0.1, 203.0.113.7'];
    await waitForKey(near);
    t.equal((await ask({ 'X-API-Key': near, 'X-Forwarded-For': '203.0.113.7' })).status, 200);
    for (const chain of [...chains, chains]) {
      const spoofed = { 'X-API-Key': far, 'X-Forwarded-For': chain, 'X-Real-Ip': '203.0.113.7' };
      t.equal((await ask(spoofed)).status, 401, String(chain));
    }
  });

  await t.test('the verdicts are the same behind a trusted proxy', async (t) => {
    const trusting = await targetOf(platform).trustingIngress(t);
    const through = (headers: Record<string, string>) => requestThroughIngress(trusting, url, { headers });
    await eventually(
      () => through({}).catch(() => ({ status: 0 })),
      ({ status }) => status === 401,
    );
    t.equal((await through(claims)).status, 401);
    t.equal((await through({ ...claims, 'X-API-Key': scoped })).status, 401);
    // The checkers trust no proxy here: the client is the peer of the ingress.
    t.equal((await through({ 'X-Forwarded-For': '203.0.113.7', 'X-API-Key': far })).status, 401);
    t.equal((await through({ 'X-Forwarded-For': '203.0.113.7', 'X-API-Key': near })).status, 200);
    const answer = await through({ ...claims, 'X-Forwarded-For': '203.0.113.7', 'X-API-Key': key });
    t.equal(answer.status, 200);
    const { headers } = JSON.parse(answer.body) as { headers: Record<string, string> };
    t.match(headers['x-forwarded-for'], /^203\.0\.113\.7, /, 'the ingress would not forward it for any other peer');
    t.equal(headers['x-forwarded-host'], claims['X-Forwarded-Host'], 'the app should see it');
  });
});

/** A key that expires soon, but not before the platform has processed it, however long that takes. */
async function shortLivedKey(lifeMs = 2000): Promise<string> {
  const expires = new Date(Date.now() + lifeMs).toISOString();
  const creation = await platform.svc(['key', 'create', '--plan', 'wide', '--expires', expires, ...flags]);
  if (creation.code === 0) return creation.stdout.trim();
  if (!creation.stderr.includes('in the past')) throw new Error(creation.stderr);
  return shortLivedKey(2 * lifeMs);
}

t.test('4: every key that does not open the app is refused with the same bytes', async (t) => {
  const foreign = await testProject(t, platform);
  await platform.ok(['app', 'create', 'api', '--image', image, ...foreign.flags]);
  await platform.ok(['app', 'gate', 'enable', 'api', ...foreign.flags]);
  await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...foreign.flags]);
  const keys = new Map([
    ['of another environment', await platform.ok(['key', 'create', '--plan', 'wide', ...foreign.flags])],
    ['of another app', await newKey('--app', 'other')],
    ['disabled', await newKey()],
    ['revoked', await newKey()],
    ['expired', await shortLivedKey()],
    ['with one letter changed', `${key.slice(0, 20)}${key[20] === 'a' ? 'b' : 'a'}${key.slice(21)}`],
    ['of no shape', 'nonsense'],
    ['empty', ''],
    ['of the shape, unknown', `svc_${'a'.repeat(8)}_${'b'.repeat(46)}`],
  ]);
  await platform.ok(['key', 'disable', handleOf(keys.get('disabled') ?? ''), ...flags]);
  await platform.ok(['key', 'revoke', handleOf(keys.get('revoked') ?? ''), '--yes', ...flags]);
  const bytesFor = (attempt: string) =>
    exchange(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nX-API-Key: ${attempt}\r\n\r\n`);
  const expected = await exchange(`GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
  t.match(expected, /^HTTP\/1\.1 401 Unauthorized\r\n/);
  t.match(expected, '"code":"invalid_key"');
  for (const [name, attempt] of keys) {
    const refused = await eventually(
      () => bytesFor(attempt),
      (bytes) => !bytes.startsWith('HTTP/1.1 200'),
    );
    t.equal(refused, expected, name);
  }
});

t.test(
  'an app whose namespace and name spell the same as those of another app opens only with its own keys',
  async (t) => {
    // `<project>-prod` and `x-api`, as `<project>-prod-x` and `api`: Traefik joins them with a hyphen.
    const twin = await testProject(t, platform, { project: namespace, environment: 'x' });
    const gated = async (name: string, place: string[]) => {
      await platform.ok(['app', 'create', name, '--image', image, ...place]);
      await platform.ok(['app', 'gate', 'enable', name, ...place]);
      return platform.json<{ url: string; id: string }>(['app', 'show', name, ...place]);
    };
    await platform.ok(['plan', 'create', 'wide', '--rate', '1000', '--burst', '1000', ...twin.flags]);
    const apps = [
      { app: await gated('x-api', flags), key },
      {
        app: await gated('api', twin.flags),
        key: await platform.ok(['key', 'create', '--plan', 'wide', ...twin.flags]),
      },
    ];
    const statusOf = async (app: { url: string }, sent: string) =>
      (await platform.request(app.url, { headers: { 'X-API-Key': sent } })).status;
    for (const own of apps) {
      await waitForKey(own.key, own.app.id);
      await eventually(
        () => statusOf(own.app, own.key),
        (status) => status === 200,
      );
    }
    for (const { app } of apps)
      for (const sent of apps) t.equal(await statusOf(app, sent.key), sent.app === app ? 200 : 401);
  },
);

t.test('5: only a preflight passes without a key', async (t) => {
  const preflight = { Origin: 'https://example.com', 'Access-Control-Request-Method': 'GET' };
  t.equal((await ask(preflight, 'OPTIONS')).status, 200);
  t.equal((await ask({ Origin: 'https://example.com' }, 'OPTIONS')).status, 401);
  t.equal((await ask({ 'Access-Control-Request-Method': '' }, 'OPTIONS')).status, 401);
  t.equal((await ask({ Access_Control_Request_Method: 'GET' }, 'OPTIONS')).status, 401);
  for (const method of ['GET', 'HEAD', 'POST']) t.equal((await ask(preflight, method)).status, 401, method);
});

t.test('6: a duplicate or huge key header is refused, and the gate keeps working', async (t) => {
  t.equal((await ask({ 'X-API-Key': [key, key] })).status, 401);
  t.equal((await ask({ 'X-API-Key': [key, 'nonsense'] })).status, 401);
  t.equal((await ask({ 'X-API-Key': `${key}, ${key}` })).status, 401);
  t.equal((await ask({ 'X-API-Key': key.repeat(16_000) })).status, 401, '0.9 MB');
  const line = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nX-API-Key: ${'k'.repeat(1024 * 1024 + 8192)}`;
  t.match(await exchange(`${line}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  t.equal((await ask({ 'X-API-Key': key })).status, 200);
});

t.test('a key outside its header opens nothing', async (t) => {
  for (const name of ['X_API_Key', 'X.API.Key', 'Authorization', 'Cookie']) {
    t.equal((await ask({ [name]: key })).status, 401, name);
  }
  t.equal((await platform.request(`${url}/?X-API-Key=${key}&app=${other.id}`)).status, 401);
});

t.test('no form of host name or request framing bypasses the gate', async (t) => {
  const { hostname } = new URL(url);
  const hosts = [`${host}.`, host.toUpperCase(), hostname, `${hostname}:1`, `${hostname}.`];
  for (const name of hosts) {
    const reply = await exchange(`GET / HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`);
    t.notMatch(reply, /^HTTP\/1\.1 2/, name);
  }
  const absolute = `GET ${url}/ HTTP/1.1\r\nHost: ${new URL(other.url).host}\r\nConnection: close\r\n`;
  t.match(await exchange(`${absolute}\r\n`), /^HTTP\/1\.1 401 /);
  const hidden = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  const both = `Content-Length: ${hidden.length + 5}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`;
  const smuggled = await exchange(`POST / HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n${both}`);
  const answers = smuggled.match(/HTTP\/1\.1 (\d+)/g) ?? [];
  t.ok(answers.length > 0);
  t.ok(answers.slice(1).every((line) => line.endsWith('401')));
});

t.test('a request for an HTTP/2 upgrade reaches the app without the upgrade headers', async (t) => {
  const answer = await ask({
    'X-API-Key': key,
    Connection: 'Upgrade',
    Upgrade: 'h2c',
    'HTTP2-Settings': 'AAMAAABkAARAAAAAAAIAAAAA',
  });
  t.equal(answer.status, 200);
  t.equal(seenBy(answer)['http2-settings'], undefined);
});
