import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createDecisionLog } from '../../../gate/authz/decision-log.ts';
import { createAuthorizeHandler } from '../../../gate/authz/handler.ts';
import { createGateMetrics } from '../../../gate/authz/metrics.ts';
import { createAuthzServer } from '../../../gate/authz/server.ts';
import type { KeyRow, PlanRow } from '../../../gate/authz/gate-store.ts';
import { invalidKeyBody } from '../../../runtime/contracts/gate-denials.ts';
import { generateApiKey } from '../../../runtime/domain/api-key.ts';
import { createProbeCheck, createProbeSigner } from '../../../runtime/domain/gate-probe.ts';
import { newId } from '../../../runtime/domain/ids.ts';
import { fakeClock } from '../../support/clock.ts';
import { recordingLog } from '../../support/log.ts';
import { app, bench, good, keyRow, otherApp, planRow } from './records.ts';

const probeKey = 'the key of probes';

interface Answer {
  status: number;
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}

/** The gate's server over a view that a test fills, on a stopped clock. */
async function rig(t: Test) {
  const clock = fakeClock();
  const rows = bench({ trustedProxies: ['10.0.0.0/8'] });
  const { view, usage, rates, check } = rows;
  const registry = new Registry();
  const metrics = createGateMetrics(registry, { view, rates, clock });
  const lines: string[] = [];
  const trouble = recordingLog();
  const decisions = createDecisionLog({
    name: 'svc-authz',
    output: { write: (line) => lines.push(line) > 0 },
    clock,
    onLost: () => undefined,
  });
  const isProbe = createProbeCheck(probeKey, clock);
  const authorize = createAuthorizeHandler({ check, clock, decisions, metrics, isProbe, log: trouble.log });
  const ready = () => view.position() !== undefined;
  const server = createAuthzServer({ port: 0, host: '127.0.0.1', authorize, registry, ready, clock, drainMs: 0 });
  const port = await server.start();
  const agent = new Agent({ keepAlive: true });
  t.teardown(async () => {
    agent.destroy();
    await Promise.all([server.stop(), clock.advance(0)]);
  });

  const get = async (path: string, headers: Record<string, string | string[]> = {}): Promise<Answer> => {
    const sent = httpRequest({ host: '127.0.0.1', port, path, headers, agent, setDefaultHeaders: false });
    sent.setHeader('Host', 'svc-authz');
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    let body = '';
    for await (const chunk of response) body += String(chunk);
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  };

  return {
    clock,
    view,
    usage,
    lines,
    trouble,
    port,
    server,
    app,
    other: otherApp,
    good,
    row: keyRow,
    get,
    get entries() {
      return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    },
    /** Loads these keys into the view, proven now. */
    load(keys: KeyRow[], limit: Partial<PlanRow> = {}) {
      rows.load({ plans: [planRow({ burst: 1000, ...limit })], keys, apps: [app, otherApp] }, clock.now().getTime());
      view.provenAt(clock.monotonic());
    },
    /** The headers that Traefik's forwardAuth sends for a client's request. */
    authorize: (headers: Record<string, string | string[]> = {}, appId = app.id) =>
      get(`/authorize?app=${appId}`, {
        'X-Forwarded-Method': 'GET',
        'X-Forwarded-Proto': 'https',
        'X-Forwarded-Host': 'api.example.com',
        'X-Forwarded-Uri': '/',
        'X-Forwarded-For': '203.0.113.7',
        ...headers,
      }),
    async metric(name: string): Promise<number | undefined> {
      const { body } = await get('/metrics');
      const line = body.split('\n').find((text) => text.startsWith(`${name} `));
      return line === undefined ? undefined : Number(line.split(' ').at(-1));
    },
  };
}

/** The headers of every denial: JSON that any page may read and no cache may store. */
function checkDenial(t: Test, answer: Answer, status: number, code: string) {
  t.equal(answer.status, status);
  t.match(JSON.parse(answer.body), { code, message: String });
  t.same(Object.keys(JSON.parse(answer.body) as object), ['code', 'message']);
  t.equal(answer.headers['content-type'], 'application/json');
  t.equal(answer.headers['access-control-allow-origin'], '*');
  t.equal(answer.headers['access-control-expose-headers'], 'Retry-After, RateLimit, RateLimit-Policy');
  t.equal('ratelimit' in answer.headers, status === 429);
  t.equal('ratelimit-policy' in answer.headers, status === 429);
  t.equal(answer.headers['cache-control'], 'no-store');
  t.notOk(Object.keys(answer.headers).some((name) => name.startsWith('x-svc-')));
}

t.test('200: the app gets the handle and the name', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const answer = await gate.authorize({ 'X-API-Key': gate.good.key });
  t.match(answer, { status: 200, body: '' });
  t.equal(answer.headers['x-svc-key-prefix'], gate.good.handle);
  t.equal(answer.headers['x-svc-key-name'], 'Acme');
  t.equal(answer.headers['ratelimit-policy'], '"rate";q=1000;w=1000');
  t.equal(answer.headers['ratelimit'], '"rate";r=999;t=1');

  gate.load([gate.row({ name: 'Zürich 日本\r\nX-Admin: 1' })]);
  const encoded = await gate.authorize({ 'X-API-Key': gate.good.key });
  t.equal(encoded.headers['x-svc-key-name'], 'Z%C3%BCrich %E6%97%A5%E6%9C%AC%0D%0AX-Admin: 1');
  t.equal(encoded.headers['x-admin'], undefined);

  gate.load([gate.row({ name: null })]);
  const nameless = await gate.authorize({ 'X-API-Key': gate.good.key });
  t.equal(nameless.status, 200);
  t.notOk('x-svc-key-name' in nameless.headers);
});

t.test('200: a preflight passes without a key, and without headers for the app', async (t) => {
  const gate = await rig(t);
  gate.load([]);
  const preflight = { 'X-Forwarded-Method': 'OPTIONS', 'Access-Control-Request-Method': 'PUT' };
  const answer = await gate.authorize(preflight);
  t.match(answer, { status: 200, body: '' });
  t.notOk('x-svc-key-prefix' in answer.headers);
  checkDenial(t, await gate.authorize({ 'X-Forwarded-Method': 'OPTIONS' }), 401, 'invalid_key');
  checkDenial(t, await gate.authorize({ ...preflight, 'X-Forwarded-Method': 'GET' }), 401, 'invalid_key');
  checkDenial(t, await gate.authorize({ ...preflight, 'X-Forwarded-Method': ['OPTIONS', 'GET'] }), 401, 'invalid_key');
});

t.test('401: every refusal of a key has the same bytes', async (t) => {
  const gate = await rig(t);
  const [disabled, expired, scoped, foreign] = [generateApiKey(), generateApiKey(), generateApiKey(), generateApiKey()];
  const elsewhere = generateApiKey();
  gate.load([
    gate.row(),
    gate.row({ enabled: false }, disabled),
    gate.row({ expiresAt: gate.clock.now().getTime() }, expired),
    gate.row({ scope: [gate.other.id] }, scoped),
    gate.row({ environmentId: newId() }, foreign),
    gate.row({ allowedCidrs: ['198.51.100.0/24'] }, elsewhere),
  ]);
  const { key } = gate.good;
  const attempts: Record<string, Record<string, string | string[]>> = {
    'no key': {},
    'an empty key': { 'X-API-Key': '' },
    garbage: { 'X-API-Key': 'nonsense' },
    'an unknown key': { 'X-API-Key': generateApiKey().key },
    'a disabled key': { 'X-API-Key': disabled.key },
    'an expired key': { 'X-API-Key': expired.key },
    'a key of another app': { 'X-API-Key': scoped.key },
    'a key of another environment': { 'X-API-Key': foreign.key },
    'a key of other addresses': { 'X-API-Key': elsewhere.key },
    'a key of other addresses, made up': {
      'X-API-Key': elsewhere.key,
      'X-Forwarded-For': '198.51.100.1, 203.0.113.7',
      'X-Real-Ip': '198.51.100.1',
    },
    'a good key twice': { 'X-API-Key': [key, key] },
    'a good key and another': { 'X-API-Key': [key, 'x'] },
    'a key of a mebibyte': { 'X-API-Key': key + 'x'.repeat(1024 * 1024) },
    'an alias of the header': { X_API_Key: key },
    'a key in another header': { Authorization: `Bearer ${key}` },
    'a spoofed target': { 'X-Forwarded-Uri': `/?app=${gate.other.id}`, 'X-API-Key': scoped.key },
  };
  const seen = new Set<string>();
  for (const [name, headers] of Object.entries(attempts)) {
    const answer = await gate.authorize(headers);
    checkDenial(t, answer, 401, 'invalid_key');
    t.notOk('retry-after' in answer.headers, name);
    const { date: _, ...rest } = answer.headers;
    seen.add(JSON.stringify([answer.body, rest]));
  }
  t.equal(seen.size, 1, 'bodies and headers alike');
  t.match([...seen][0], JSON.stringify(invalidKeyBody), 'and those with another key');
  const vouched = { 'X-API-Key': elsewhere.key, 'X-Forwarded-For': '198.51.100.1, 10.0.0.7' };
  t.equal((await gate.authorize(vouched)).status, 200);
  t.equal((await gate.authorize({ 'X-API-Key': scoped.key }, gate.other.id)).status, 200);
  t.notMatch(gate.lines.join(''), /[a-z0-9]{40}/, 'no key in the log');
});

t.test('429: Retry-After says when to retry', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()], { requestsPerSecond: 5, burst: 2 });
  const headers = { 'X-API-Key': gate.good.key };
  t.equal((await gate.authorize(headers)).status, 200);
  t.equal((await gate.authorize(headers)).status, 200);
  const limited = await gate.authorize(headers);
  checkDenial(t, limited, 429, 'rate_limited');
  t.equal(limited.headers['retry-after'], '1');
  t.equal(limited.headers['ratelimit-policy'], '"rate";q=2;w=1');
  t.equal(limited.headers['ratelimit'], '"rate";r=0;t=1');
  await gate.clock.advance(200);
  t.equal((await gate.authorize(headers)).status, 200);
});

t.test('429: Retry-After is one second also for a slow plan; RateLimit has the time of the next token', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()], { requestsPerSecond: 0.1, burst: 1 });
  const headers = { 'X-API-Key': gate.good.key };
  t.equal((await gate.authorize(headers)).status, 200);
  const limited = await gate.authorize(headers);
  t.equal(limited.headers['retry-after'], '1');
  t.equal(limited.headers['ratelimit'], '"rate";r=0;t=10');
});

t.test('429: an exhausted quota says when its period ends', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()], { quotaLimit: 2, quotaPeriod: 'month' });
  const headers = { 'X-API-Key': gate.good.key };
  const first = await gate.authorize(headers);
  t.equal(first.headers['ratelimit'], '"rate";r=999;t=1, "quota";r=1;t=2678400');
  t.equal((await gate.authorize(headers)).status, 200);
  const denied = await gate.authorize(headers);
  checkDenial(t, denied, 429, 'quota_exhausted');
  t.equal(denied.headers['retry-after'], '2678400');
  t.equal(denied.headers['ratelimit-policy'], '"rate";q=1000;w=1000, "quota";q=2;w=2678400');
  t.equal(denied.headers['ratelimit'], '"rate";r=998;t=2, "quota";r=0;t=2678400');
  t.match(gate.entries.at(-1), { msg: 'authorize deny', reason: 'deny_quota', key_prefix: gate.good.handle });
  gate.clock.jump(2_678_399_000);
  t.equal((await gate.authorize(headers)).headers['retry-after'], '1');
  gate.clock.jump(1_000);
  t.equal((await gate.authorize(headers)).status, 200, 'February');
});

t.test('500: no app or an unknown one in the path', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const headers = { 'X-API-Key': gate.good.key };
  const paths = ['/authorize', '/authorize?', '/authorize?app=', '/authorize?app=api', `/authorize?app=${newId()}`];
  for (const path of [...paths, `/authorize?x=1&app=${gate.app.id}`, `/authorize?app=${gate.app.id}&app=1`]) {
    const answer = await gate.get(path, headers);
    checkDenial(t, answer, 500, 'misconfigured');
    t.notOk('retry-after' in answer.headers, path);
  }
});

t.test('503: before the first load, and when the view is too old', async (t) => {
  const gate = await rig(t);
  const headers = { 'X-API-Key': gate.good.key };
  const check = async () => {
    const answer = await gate.authorize(headers);
    checkDenial(t, answer, 503, 'gate_unavailable');
    t.equal(answer.headers['retry-after'], '10');
    t.match(answer.body, 'svc-authz');
  };
  await check();
  t.equal(await gate.metric('authz_cache_fresh_seconds'), -1);
  t.equal((await gate.get('/ready')).status, 503);
  gate.load([gate.row()]);
  t.equal((await gate.get('/ready')).status, 200);
  await gate.clock.advance(89_999);
  t.equal((await gate.authorize(headers)).status, 200);
  t.equal(await gate.metric('authz_cache_fresh_seconds'), 89.999);
  await gate.clock.advance(1);
  await check();
  t.equal((await gate.get('/ready')).status, 200, 'a stale replica keeps running, so that it can answer 503');
  gate.view.provenAt(gate.clock.monotonic());
  t.equal((await gate.authorize(headers)).status, 200, 'it resumes');
});

t.test('503: an internal error of the checker denies', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  gate.usage.calendar = () => {
    throw new Error('broken');
  };
  checkDenial(t, await gate.authorize({ 'X-API-Key': gate.good.key }), 503, 'gate_unavailable');
  t.match(gate.trouble.entries, [{ msg: 'authorize failed' }]);
  t.notMatch(gate.trouble.text(), gate.good.key);
  t.equal(await gate.metric('authz_requests_total{decision="unavailable"}'), 1);
});

t.test('metrics count every decision, from zero', async (t) => {
  const gate = await rig(t);
  const count = (decision: string) => gate.metric(`authz_requests_total{decision="${decision}"}`);
  for (const decision of ['allow', 'deny_key', 'deny_rate', 'deny_quota', 'unavailable', 'preflight']) {
    t.equal(await count(decision), 0, decision);
  }
  await gate.authorize();
  gate.load([gate.row()], { burst: 1 });
  for (let round = 0; round < 3; round++) await gate.authorize({ 'X-API-Key': gate.good.key });
  const used = gate.row();
  gate.load([used], { quotaLimit: 1, quotaPeriod: 'day' });
  const others = gate.usage.readOthers();
  others.others([{ keyId: used.id, allowed: 1 }]);
  others.commit(gate.usage.calendar(gate.clock.now().getTime()), true);
  await gate.authorize({ 'X-API-Key': gate.good.key });
  await gate.authorize();
  await gate.authorize({ 'X-Forwarded-Method': 'OPTIONS', 'Access-Control-Request-Method': 'PUT' });
  await gate.get('/authorize');
  const counts: Record<string, number> = { allow: 1, deny_key: 1, deny_rate: 2, deny_quota: 1 };
  for (const [decision, expected] of Object.entries({ ...counts, unavailable: 1, preflight: 1, misconfigured: 1 })) {
    t.equal(await count(decision), expected, decision);
  }
});

t.test('the log: every denial with handle and reason, allows one in a hundred, never a key', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row(), gate.row({ enabled: false }, generateApiKey())], { burst: 250 });
  await gate.authorize({ 'X-API-Key': 'x'.repeat(500), 'X-Forwarded-For': '198.51.100.1, 10.0.0.1' });
  const unknown = generateApiKey();
  await gate.authorize({ 'X-API-Key': unknown.key });
  t.match(gate.entries, [
    {
      level: 'info',
      name: 'svc-authz',
      msg: 'authorize deny',
      reason: 'deny_key',
      fault: 'malformed',
      client_ip: '198.51.100.1',
      forwarded_for: '198.51.100.1, 10.0.0.1',
      app: 'shop-prod/api',
    },
    { msg: 'authorize deny', reason: 'deny_key', fault: 'unknown', key_prefix: unknown.handle },
  ]);
  t.notOk('key_prefix' in (gate.entries[0] ?? {}));
  t.ok(Number.isFinite(Date.parse(String(gate.entries[0]?.['time']))));

  gate.lines.length = 0;
  const headers = { 'X-API-Key': gate.good.key };
  for (let round = 0; round < 250; round++) await gate.authorize(headers);
  t.match(
    gate.entries,
    Array.from({ length: 3 }, () => ({ msg: 'authorize allow', key_prefix: gate.good.handle })),
  );
  t.equal(gate.entries.length, 3);
  await gate.authorize(headers);
  t.match(gate.entries.at(-1), { msg: 'authorize deny', reason: 'deny_rate', key_prefix: gate.good.handle });

  gate.lines.length = 0;
  const chain = Array.from({ length: 100 }, (_, hop) => `10.0.0.${hop}`).join(', ');
  await gate.authorize({ 'X-Forwarded-For': chain });
  await gate.authorize({ 'X-Forwarded-For': Buffer.from('é'.repeat(300)).toString('latin1') });
  await gate.get(`/authorize?app=${gate.app.id}`);
  const [long, bytes, direct] = gate.entries;
  t.equal(long?.['forwarded_for'], chain.slice(0, 256));
  t.ok(Buffer.byteLength(String(bytes?.['forwarded_for'])) <= 256);
  t.equal(direct?.['client_ip'], '127.0.0.1');
  t.notOk('forwarded_for' in (direct ?? {}));
  t.notMatch(gate.lines.join(''), gate.good.key);
});

t.test('a request that is invalid or too large is refused and affects no other', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const raw = async (text: string) => {
    const socket = connect(gate.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.end(text);
    let answer = '';
    for await (const chunk of socket) answer += String(chunk);
    return answer.split('\r\n', 1)[0];
  };
  t.equal(await raw('nonsense\r\n\r\n'), 'HTTP/1.1 400 Bad Request');
  const head = `GET /authorize?app=${gate.app.id} HTTP/1.1\r\nHost: svc-authz\r\n`;
  const large = await raw(`${head}X-API-Key: ${'x'.repeat(2_000_000)}\r\n\r\n`).catch(() => 'cut');
  t.match(large, /^(HTTP\/1.1 431 |cut|$)/);
  t.equal((await gate.authorize({ 'X-API-Key': gate.good.key })).status, 200);
});

t.test('the admin port: health, metrics, and nothing else', async (t) => {
  const gate = await rig(t);
  t.match(await gate.get('/health'), { status: 200, body: '{"healthy":true}' });
  t.match(await gate.get('/metrics'), { status: 200, headers: { 'content-type': 'text/plain' } });
  for (const path of ['/', '/authorizer', '/health/x']) t.equal((await gate.get(path)).status, 404, path);
});

t.test('stopping keeps serving until the ingress has removed the replica', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const headers = { 'X-API-Key': gate.good.key };
  const first = await gate.authorize(headers);
  t.equal(first.headers.connection, 'keep-alive');
  t.notOk('keep-alive' in first.headers, 'the ingress closes idle connections');
  const stopped = gate.server.stop();
  const last = await gate.authorize(headers);
  t.match(last, { status: 200, headers: { connection: 'close' } });
  await gate.clock.advance(0);
  await stopped;
  await t.rejects(gate.authorize(headers), { code: 'ECONNREFUSED' });
});

t.test('a probe of the platform is denied as any request, and neither logged nor counted as a denial', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const sign = createProbeSigner(probeKey, gate.clock);
  const plain = await gate.authorize();
  const probe = await gate.authorize({ 'X-API-Key': sign(gate.app.id) });
  checkDenial(t, probe, 401, 'invalid_key');
  t.equal(probe.body, plain.body);
  t.same(probe.headers, plain.headers);
  t.equal(gate.entries.length, 1, 'only the other request');
  t.equal(await gate.metric('authz_requests_total{decision="deny_key"}'), 1);
  t.equal(await gate.metric('authz_probes_total'), 1);

  await gate.clock.advance(91_000);
  const stale = await gate.authorize({ 'X-API-Key': sign(gate.app.id) });
  checkDenial(t, stale, 503, 'gate_unavailable');
  t.equal(gate.entries.length, 1, 'nor while keys cannot be verified');
  t.equal(await gate.metric('authz_requests_total{decision="unavailable"}'), 0);
});

t.test('attack: a forged probe, or one of another workload, is logged and counted as any denial', async (t) => {
  const gate = await rig(t);
  gate.load([gate.row()]);
  const real = createProbeSigner(probeKey, gate.clock)(gate.app.id);
  const window = real.split('.')[1] ?? '';
  const forgeries: [string, string][] = [
    ['another key', createProbeSigner('another', gate.clock)(gate.app.id)],
    ['another workload', createProbeSigner(probeKey, gate.clock)(gate.other.id)],
    ['cut', real.slice(0, -1)],
    ['longer', `${real}x`],
    ['no signature', `svc-probe.${window}.`],
    ['no window', real.replace(window, '')],
    ['another window', real.replace(window, String(Number(window) + 1))],
    ['a distant window', real.replace(window, String(Number(window) + 5))],
    ['a window that is no number', real.replace(window, 'NaN')],
    ['twice', `${real}, ${real}`],
    ['another case', real.toUpperCase()],
  ];
  for (const [index, [name, forgery]] of forgeries.entries()) {
    checkDenial(t, await gate.authorize({ 'X-API-Key': forgery }), 401, 'invalid_key');
    t.equal(gate.entries.length, index + 1, name);
    t.equal(await gate.metric('authz_requests_total{decision="deny_key"}'), index + 1, name);
  }
  t.equal(await gate.metric('authz_probes_total'), 0);
  t.notMatch(JSON.stringify(gate.entries), 'svc-probe.', 'what was sent is not logged');
  await gate.clock.advance(180_000);
  gate.load([gate.row()]);
  await gate.authorize({ 'X-API-Key': real });
  t.equal(gate.entries.length, forgeries.length + 1, 'an old one');
});
