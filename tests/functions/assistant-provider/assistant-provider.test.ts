import t, { type Test } from 'tap';
import { createAssistantProviderRoutes } from '../../../functions/assistant-provider/handler.ts';
import { assistantKeyContext } from '../../../runtime/domain/assistant.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { parseKeyRing, unseal } from '../../../runtime/domain/sealed.ts';
import { countAssistantTokens } from '../../../runtime/records/assistant.ts';
import { testApi } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { recordingLog } from '../../support/log.ts';
import { signedIn } from '../../support/people.ts';
import { testDatabase } from '../../support/postgres.ts';
import { beginStream, calls, startScriptedProvider } from '../../support/scripted-provider.ts';

const path = '/api/v1/platform/assistant';
const keyRing = parseKeyRing(JSON.stringify({ current: 'k', keys: { k: Buffer.alloc(32, 1).toString('base64') } }));
const openai = { url: 'https://api.openai.com/v1', model: 'gpt-5-mini' };
const key = 'very-secret-key';

async function rig(t: Test, { testTimeoutMs = 30_000 } = {}) {
  const { pool } = await testDatabase(t);
  const recorded = recordingLog();
  const routes = createAssistantProviderRoutes({ pool, keyRing, clock: systemClock, kube: fakeKube(), testTimeoutMs });
  const api = await testApi(t, { routes, log: recorded.log });
  const storedKey = async () => {
    const { rows } = await pool.query<{ url: string; key: string | null }>('SELECT url, key FROM assistant_provider');
    const [row] = rows;
    return row?.key ? unseal(keyRing, assistantKeyContext(row.url), row.key) : undefined;
  };
  return { pool, recorded, storedKey, call: (...request: Parameters<typeof api.call>) => api.call(...request) };
}

t.test('200: the provider is set; its key is sealed, never shown, and only of its address', async (t) => {
  const { pool, call, recorded, storedKey } = await rig(t);
  t.match(await call('GET', path), { status: 404, body: { code: 'not_found', message: /svc platform assistant set/ } });
  const set = await call('PUT', path, { body: { ...openai, url: 'https://api.openai.com/v1/', key } });
  t.equal(set.status, 200, set.text);
  t.match(set.body, {
    ...openai,
    key: true,
    level: 'names',
    networks: [],
    messagesPerHour: 30,
    tokensPerDay: 2_000_000,
    tokensToday: 0,
  });
  t.equal(await storedKey(), key);
  t.match(
    recorded.entries.find(({ action }) => action === 'platform.assistant.set'),
    { assistant: { origin: 'https://api.openai.com', model: 'gpt-5-mini', key: true, level: 'names' } },
  );
  const { rows } = await pool.query('SELECT assistant_provider::text FROM assistant_provider');
  t.notMatch(JSON.stringify([set.body, (await call('GET', path)).body, rows, recorded.entries]), key);

  await call('PUT', path, { body: { ...openai, model: 'gpt-5', level: 'logs' } });
  t.equal(await storedKey(), key, 'kept with the same address');
  await call('PUT', path, { body: { ...openai, key: null } });
  t.equal(await storedKey(), undefined, 'removed on request');
  await call('PUT', path, { body: { ...openai, key } });
  for (const url of ['https://api.openai.com/v2', 'https://api.openai.com.evil.test/v1', 'http://api.openai.com/v1']) {
    const moved = await call('PUT', path, { body: { ...openai, url } });
    t.match(moved.body, { url, key: false }, 'another address does not get the key');
    t.match((await call('PUT', path, { body: openai })).body, { key: false }, 'nor does the first one again');
    await call('PUT', path, { body: { ...openai, key } });
  }
  await pool.query(`UPDATE assistant_provider SET url = 'https://evil.test'`);
  await t.rejects(storedKey(), 'the sealed key is bound to the address');
});

t.test('422 and 400: what cannot be used is refused, and changes nothing', async (t) => {
  const { pool, call } = await rig(t);
  for (const [body, field] of [
    [{ ...openai, url: 'ftp://api.openai.com' }, 'url'],
    [{ ...openai, url: 'api.openai.com' }, 'url'],
    [{ ...openai, url: `https://user:${key}@api.openai.com` }, 'url'],
    [{ ...openai, url: 'https://api.openai.com/v1?key=x' }, 'url'],
    [{ ...openai, url: 'http://10.20.7.5:11434/v1' }, 'networks'],
    [{ ...openai, url: 'http://169.254.169.254/v1' }, 'networks'],
    [{ ...openai, url: 'http://[::1]/v1' }, 'networks'],
    [{ ...openai, networks: ['everything'] }, 'networks.0'],
    [{ ...openai, key: '' }, 'key'],
    [{ ...openai, key: `${key}\r\nx: y` }, 'key'],
    [{ ...openai, key: 'ä' }, 'key'],
  ] as const) {
    const { text, ...answer } = await call('PUT', path, { body });
    t.match(answer, { status: 422, body: { code: 'invalid_value', details: { field } } }, JSON.stringify(body));
    t.notMatch(text, key);
  }
  for (const change of [
    { level: 'all' },
    { model: '' },
    { model: 'a b' },
    { messagesPerHour: 0 },
    { tokensPerDay: 1.5 },
    { more: 1 },
  ]) {
    t.equal((await call('PUT', path, { body: { ...openai, ...change } })).status, 400, JSON.stringify(change));
  }
  t.same((await pool.query('SELECT 1 FROM assistant_provider')).rows, []);
  const allowed = { ...openai, url: 'http://10.20.7.5:11434/v1', networks: ['10.20.7.0/24', '10.20.7.0/24'] };
  t.match(await call('PUT', path, { body: allowed }), { status: 200, body: { networks: ['10.20.7.0/24'] } });
});

t.test('the tokens of the day are shown', async (t) => {
  const { pool, call } = await rig(t);
  await call('PUT', path, { body: openai });
  const { id } = await signedIn(pool, 'dana');
  await countAssistantTokens(pool, id, new Date(), 70);
  await countAssistantTokens(pool, id, new Date(Date.now() - 2 * 86_400_000), 1_000);
  t.match((await call('GET', path)).body, { tokensToday: 70 });
});

t.test('a test asks the model, with a tool', async (t) => {
  const provider = await startScriptedProvider(t);
  const { call } = await rig(t);
  t.equal((await call('POST', `${path}/test`)).status, 404);
  const body = { url: provider.url, model: 'm', key, networks: ['127.0.0.0/8'] };
  await call('PUT', path, { body });
  t.match(await call('POST', `${path}/test`), {
    status: 200,
    body: { status: 'ok', model: 'm', milliseconds: Number },
  });
  t.match(provider.requests, [
    {
      path: '/v1/chat/completions',
      headers: { authorization: `Bearer ${key}` },
      body: { model: 'm', stream: true, tools: [{ function: { name: 'show_time' } }] },
    },
  ]);
  provider.script = [calls(['show_time', {}])];
  t.match((await call('POST', `${path}/test`)).body, { status: 'ok' });
  await call('PUT', path, { body: { ...body, key: null } });
  await call('POST', `${path}/test`);
  t.equal(provider.requests.at(-1)?.headers.authorization, undefined);
});

t.test('a test says why the provider gives no answer, without the key', async (t) => {
  const provider = await startScriptedProvider(t);
  const { call, recorded } = await rig(t);
  await call('PUT', path, { body: { url: provider.url, model: 'm', key, networks: ['127.0.0.0/8'] } });
  const test = async () => (await call('POST', `${path}/test`)).body as { code: string; error: string };
  const refuse = (status: number, message: string) => {
    provider.script = [
      (response) => {
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }));
      },
    ];
  };
  refuse(401, `Incorrect API key: ${key}\u001b[2J`);
  t.match(await test(), {
    code: 'provider_refused',
    error: 'the provider responded with 401: Incorrect API key: [redacted][2J',
  });
  refuse(404, 'no such model');
  t.match(await test(), { code: 'provider_failed', error: 'the provider responded with 404: no such model' });
  refuse(429, '');
  t.match(await test(), { code: 'provider_busy' });
  provider.script = [(response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()];
  t.match(await test(), { code: 'provider_failed', error: /302; redirects are not followed/ });
  provider.script = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>')];
  t.match(await test(), { code: 'provider_invalid' });
  provider.script = [(response) => response.destroy()];
  t.match(await test(), { code: 'provider_unreachable' });
  await call('PUT', path, { body: { url: 'http://127.0.0.1:1/v1', model: 'm', networks: ['127.0.0.0/8'] } });
  t.match(await test(), { code: 'provider_unreachable', error: 'the connection was refused' });
  t.notMatch(JSON.stringify(recorded.entries), key);
});

t.test('a test ends when the provider is silent', async (t) => {
  const provider = await startScriptedProvider(t);
  const { call } = await rig(t, { testTimeoutMs: 300 });
  await call('PUT', path, { body: { url: provider.url, model: 'm', key, networks: ['127.0.0.0/8'] } });
  for (const step of [() => undefined, beginStream]) {
    provider.script = [step];
    t.match((await call('POST', `${path}/test`)).body, { code: 'provider_timeout' });
  }
});

t.test('204: the provider is removed with its key', async (t) => {
  const { pool, call } = await rig(t);
  t.equal((await call('DELETE', path)).status, 404);
  await call('PUT', path, { body: { ...openai, key } });
  t.equal((await call('DELETE', path)).status, 204);
  t.same((await pool.query('SELECT 1 FROM assistant_provider')).rows, []);
});
