import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { createInvocationRoutes } from '../../../functions/invocations/handler.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import type { Session } from '../../../runtime/http/route.ts';
import { testApi, testSession } from '../../support/api.ts';
import { fakeKube } from '../../support/fake-kube.ts';
import { seedShop } from '../../support/objects.ts';
import { freePort } from '../../support/servers.ts';
import { answering, functionId, host, invocations, testFunction } from './rig.ts';

t.test('200: the request arrives as it was described, and the answer with everything it has', async (t) => {
  const seen: { method?: string; url?: string; raw: string[]; body: string }[] = [];
  const url = await answering(t, async (request, response) => {
    const { method = '', url: target = '', rawHeaders: raw } = request;
    seen.push({ method, url: target, raw, body: await text(request) });
    response.writeHead(201, ['Set-Cookie', 'a=1', 'Set-Cookie', 'b=2', 'X-Svc-Cold-Start', 'true']);
    response.end('{"made":"ä"}');
  });
  const { invoke, lines } = await invocations(t, url);
  const headers = [
    { name: 'X-Trace', value: '1' },
    { name: 'X-Trace', value: '2' },
    { name: 'Authorization', value: 'Bearer of-the-function' },
  ];
  const answer = await invoke(
    { method: 'PUT', path: '/items/7?dry=1&x=%C3%A4', headers, body: 'ä' },
    { headers: { 'x-request-id': 'request-1', 'x-forwarded-for': '192.0.2.7' } },
  );
  t.match(answer, {
    status: 200,
    body: {
      status: 201,
      body: '{"made":"ä"}',
      bodyEncoding: 'text',
      bodyEnd: 'complete',
      coldStart: true,
      durationMs: Number,
    },
  });
  t.same(
    answer.body.headers.filter(({ name }: { name: string }) => name === 'Set-Cookie'),
    [
      { name: 'Set-Cookie', value: 'a=1' },
      { name: 'Set-Cookie', value: 'b=2' },
    ],
  );
  t.notMatch(JSON.stringify(answer.body.headers), /transfer-encoding|"connection"/i, 'no header of the connection');
  t.equal(answer.headers.get('set-cookie'), null, 'the caller gets no cookie of the function');
  t.match(seen, [{ method: 'PUT', url: '/items/7?dry=1&x=%C3%A4', body: 'ä' }]);
  t.same(
    seen[0]?.raw.filter((entry) => entry.toLowerCase() !== 'connection' && entry !== 'close'),
    [
      ...['Host', host, 'X-Trace', '1', 'X-Trace', '2', 'Authorization', 'Bearer of-the-function'],
      ...['Content-Length', '2', 'X-Forwarded-For', '192.0.2.7', 'X-Forwarded-Host', host],
      ...['X-Forwarded-Proto', 'https', 'X-Real-Ip', '192.0.2.7', 'X-Request-Id', 'request-1'],
    ],
  );
  const audit = lines().find(({ msg }) => msg === 'audit');
  t.match(audit, { action: 'function.invoke', function: 'hello', environment: 'prod', request: 'PUT', answer: 201 });
  t.notMatch(JSON.stringify(lines()), /items|dry|of-the-function|made/, 'what was sent is in no log');
});

t.test('200: without fields it is GET /, and what is not text is base64 in both directions', async (t) => {
  const bytes = Buffer.from([0, 255, 1, 254]);
  const seen: { request: IncomingMessage; body: Buffer }[] = [];
  const url = await answering(t, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      seen.push({ request, body: Buffer.concat(chunks) });
      response.end(bytes);
    });
  });
  const { invoke } = await invocations(t, url);
  const base64 = bytes.toString('base64');
  t.match((await invoke()).body, { status: 200, body: base64, bodyEncoding: 'base64', coldStart: false });
  t.match(seen[0]?.request, { method: 'GET', url: '/' });
  t.equal(seen[0]?.request.headers['content-length'], undefined);
  await invoke({ method: 'POST', body: base64, bodyEncoding: 'base64' });
  t.same(seen[1]?.body, bytes);
  await invoke({ method: 'POST' });
  t.equal(seen[2]?.request.headers['content-length'], '0');
});

t.test('200: errors, redirects and answers of the platform in place of the function are answers', async (t) => {
  const url = await answering(t, (request, response) => {
    const status = Number(request.url?.slice(1));
    response.writeHead(status, status === 302 ? { Location: `${url}/200` } : {}).end(`status ${status}`);
  });
  const { invoke } = await invocations(t, url);
  for (const status of [204, 302, 404, 500, 504]) {
    const answer = await invoke({ path: `/${status}` });
    t.match(answer, { status: 200, body: { status, body: status === 204 ? '' : `status ${status}` } }, String(status));
  }
});

t.test('a request that is not allowed is refused, and nothing is sent', async (t) => {
  let requests = 0;
  const url = await answering(t, (_request, response) => {
    requests += 1;
    response.end();
  });
  const { kube, invoke } = await invocations(t, url);
  const otherId = functionId.replace('f1', 'f2');
  kube.seed(
    testFunction('nightly', { spec: { trigger: 'cron' } }),
    testFunction('new', { status: {} }),
    testFunction('late', { status: { host: 'taken.example.com' } }),
    {
      apiVersion: 'platform.svc/v1',
      kind: 'HostName',
      metadata: { name: 'taken.example.com' },
      spec: { kind: 'Function', namespace: 'blog-prod', name: 'other', workloadId: otherId },
    },
  );
  t.match(await invoke({}, { name: 'none' }), { status: 404, body: { code: 'not_found' } });
  t.match(await invoke({}, { name: 'nightly' }), { status: 422, body: { code: 'invalid_value', message: /cron/ } });
  t.match(await invoke({}, { name: 'new' }), { status: 409, body: { code: 'not_ready' } });
  t.match(await invoke({}, { name: 'late' }), { status: 409, body: { code: 'not_ready' } }, 'another has the host');
  const key = `svc_${'a'.repeat(8)}_${'b'.repeat(46)}`;
  for (const [body, path] of [
    [{ method: 'CONNECT' }, 'body.method'],
    [{ path: 'items' }, 'body.path'],
    [{ path: '/a b' }, 'body.path'],
    [{ path: '/a#b' }, 'body.path'],
    [{ path: `/${'a'.repeat(8_192)}` }, 'body.path'],
    [{ headers: [{ name: 'X-API-Key', value: key }] }, 'body.headers.0.value'],
    [{ headers: Array.from({ length: 51 }, () => ({ name: 'a', value: '' })) }, 'body.headers'],
    [{ body: 'a'.repeat(256 * 1024 + 1) }, 'body.body'],
    [{ body: 'a', bodyEncoding: 'base64' }, 'body.body'],
    [{ body: 'ä===', bodyEncoding: 'base64' }, 'body.body'],
    [{ timeout: 1 }, 'body'],
  ] as const) {
    const answer = await invoke(body);
    t.match(answer, { status: 400, body: { code: 'invalid_request', details: { issues: [{ path }] } } }, path);
  }
  t.equal(requests, 0);
  t.equal((await invoke({ body: 'a'.repeat(256 * 1024) })).status, 200);
  t.equal((await invoke({ headers: [{ name: 'x-api-key', value: 'a key of its own' }] })).status, 200);
});

t.test('503: the interceptors do not answer', async (t) => {
  const { invoke } = await invocations(t, `http://127.0.0.1:${await freePort()}`);
  t.match(await invoke(), { status: 503, body: { code: 'unavailable' } });
});

t.test('a user has few invocations at once, and loses the newest to a user who has none', async (t) => {
  const held: ServerResponse[] = [];
  const arrived: (() => void)[] = [];
  const closed: string[] = [];
  const url = await answering(t, (request, response) => {
    held.push(response);
    response.once('close', () => closed.push(request.url ?? ''));
    arrived.shift()?.();
  });
  const kube = fakeKube();
  seedShop(kube);
  kube.seed(testFunction());
  const limits = { total: 2, perUser: 2 };
  const api = await testApi(t, {
    routes: createInvocationRoutes({ kube, clock: systemClock, interceptorUrl: url, limits }),
    authenticate: ({ headers }) =>
      Promise.resolve({ ...testSession, userId: String(headers['authorization']) } satisfies Session),
  });
  const path = '/api/v1/projects/shop/functions/hello/invoke';
  const call = (authorization: string, body: object) => api.call('POST', path, { body, headers: { authorization } });
  const arrival = () => new Promise<void>((resolve) => arrived.push(resolve));
  const started = async (user: string, body: object) => {
    const arrives = arrival();
    const answer = call(user, body);
    await arrives;
    return { answer };
  };
  const first = await started('a', { path: '/1' });
  const second = await started('a', { path: '/2' });
  t.match(await call('a', {}), { status: 429, body: { code: 'too_many_requests' } });
  const other = await started('b', { path: '/3' });
  t.match(await second.answer, { status: 503, body: { code: 'unavailable', message: /another user needs its place/ } });
  if (closed.length === 0) await once(held[1] as ServerResponse, 'close');
  t.same(closed, ['/2'], 'its request ended');
  for (const response of held) response.end();
  t.match([await first.answer, await other.answer], [{ status: 200 }, { status: 200 }]);
});
