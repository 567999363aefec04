import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { Registry } from 'prom-client';
import t from 'tap';
import { z } from 'zod';
import { createAddressMatcher } from '../../../runtime/domain/address.ts';
import { Problem } from '../../../runtime/domain/problem.ts';
import { createHttpApp } from '../../../runtime/http/app.ts';
import { createHttpServer } from '../../../runtime/http/server.ts';
import { route } from '../../../runtime/http/route.ts';
import { KubeError } from '../../../runtime/kube/kube-client.ts';
import { testApi } from '../../support/api.ts';
import { recordingLog, silentLog } from '../../support/log.ts';

const echo = route({
  method: 'POST',
  path: '/things/:name',
  access: 'session',
  summary: 'Echoes.',
  tag: 'things',
  params: z.object({ name: z.string().max(10) }),
  query: z.object({ environment: z.string().optional() }),
  body: z.strictObject({ text: z.string(), count: z.int().default(1) }),
  replies: { 200: z.object({}).loose() },
  handle: async ({ params, query, body, session, requestId, clientAddress }) => ({
    status: 200,
    body: { params, query, body, email: session?.email, requestId, clientAddress },
  }),
});

function failing(path: string, error: unknown) {
  return route({
    method: 'GET',
    path,
    access: 'public',
    summary: 'Fails.',
    tag: 'things',
    replies: {},
    handle: () => Promise.reject(error as Error),
  });
}

t.test('a handler gets the request, parsed and validated', async (t) => {
  const api = await testApi(t, { routes: [echo] });
  const answer = await api.call('POST', '/api/v1/things/a%20b?environment=prod', {
    body: { text: 'hello' },
    headers: { 'x-request-id': 'abc-1', 'x-forwarded-for': '9.9.9.9, 10.0.0.7' },
  });
  t.equal(answer.status, 200);
  t.same(answer.body, {
    params: { name: 'a b' },
    query: { environment: 'prod' },
    body: { text: 'hello', count: 1 },
    email: 'admin@svc.local',
    requestId: 'abc-1',
    clientAddress: '10.0.0.7',
  });
  t.equal(answer.headers.get('x-request-id'), 'abc-1');
  t.equal(answer.headers.get('cache-control'), 'no-store');
});

t.test('only a proxy in front of the ingress is trusted about the client', async (t) => {
  const addressBehind = async (trusted: string[], forwardedFor?: string) => {
    const api = await testApi(t, { routes: [echo], trustedProxies: createAddressMatcher(trusted) });
    const headers: Record<string, string> = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
    return (await api.call('POST', '/api/v1/things/a', { body: { text: '' }, headers })).body.clientAddress as string;
  };
  const chain = '9.9.9.9, 203.0.113.5, 10.0.0.7';
  t.equal(await addressBehind([], chain), '10.0.0.7', 'the address that the ingress saw');
  t.equal(await addressBehind(['10.0.0.0/8'], chain), '203.0.113.5', 'the address that the proxy saw');
  t.equal(await addressBehind(['192.0.2.0/24'], chain), '10.0.0.7', 'another hop is not trusted');
  t.equal(await addressBehind(['10.0.0.0/8'], '9.9.9.9, [2001:db8::7]:443, 10.0.0.7:1234'), '2001:db8::7');
  t.equal(await addressBehind(['10.0.0.0/8'], 'made up, 10.0.0.7'), '127.0.0.1', 'an invalid address is ignored');
  t.equal(await addressBehind(['10.0.0.0/8']), '127.0.0.1');
});

t.test('an invalid request id is replaced', async (t) => {
  const api = await testApi(t, { routes: [echo] });
  for (const id of ['a b', 'x'.repeat(129), '"><script>']) {
    const answer = await api.call('POST', '/api/v1/things/a', { body: { text: '' }, headers: { 'x-request-id': id } });
    t.match(answer.headers.get('x-request-id'), /^[0-9a-f-]{36}$/);
  }
});

t.test('invalid requests are refused with a stable code', async (t) => {
  const api = await testApi(t, { routes: [echo] });
  const path = '/api/v1/things/a';
  const cases: [string, number, string, string, string, { body?: unknown; headers?: Record<string, string> }][] = [
    ['without a session', 401, 'unauthenticated', 'POST', path, { body: {}, headers: { authorization: '' } }],
    ['no JSON', 400, 'invalid_json', 'POST', path, { body: '{"text":' }],
    ['bytes that are no UTF-8', 400, 'invalid_json', 'POST', path, { body: '"\ud800' }],
    [
      'another media type',
      415,
      'unsupported_media_type',
      'POST',
      path,
      { body: 'text=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
    [
      'a compressed body',
      415,
      'unsupported_media_type',
      'POST',
      path,
      { body: gzipSync('{}').toString('latin1'), headers: { 'content-encoding': 'gzip' } },
    ],
    ['an empty body where fields are required', 400, 'invalid_request', 'POST', path, {}],
    ['an unknown field', 400, 'invalid_request', 'POST', path, { body: { text: '', extra: 1 } }],
    [
      'a deeply nested body',
      400,
      'invalid_json',
      'POST',
      path,
      { body: `{"text":${'['.repeat(30_000)}${']'.repeat(30_000)}}` },
    ],
    // Brackets in texts do not nest.
    ['a text of brackets', 400, 'invalid_request', 'POST', path, { body: { text: 7, extra: '\\"[{'.repeat(100) } }],
    ['a bad path parameter', 400, 'invalid_request', 'POST', `${path}aaaaaaaaaaa`, { body: { text: '' } }],
    [
      'a repeated query parameter',
      400,
      'invalid_request',
      'POST',
      `${path}?environment=a&environment=b`,
      { body: { text: '' } },
    ],
    ['a body beyond 64 KiB', 413, 'body_too_large', 'POST', path, { body: { text: 'x'.repeat(64 * 1024) } }],
    ['a body far beyond 64 KiB', 413, 'body_too_large', 'POST', path, { body: { text: 'x'.repeat(4 * 1024 * 1024) } }],
    ['an unknown query parameter', 400, 'invalid_request', 'POST', `${path}?enviroment=a`, { body: { text: '' } }],
    ['a NUL in the path', 400, 'invalid_request', 'POST', `${path}%00`, { body: { text: '' } }],
    ['a NUL in the query', 400, 'invalid_request', 'POST', `${path}?environment=%00`, { body: { text: '' } }],
    ['a NUL in an unknown parameter', 400, 'invalid_request', 'POST', `${path}?a=%00`, { body: { text: '' } }],
    ['a NUL in the body', 400, 'invalid_request', 'POST', path, { body: { text: 'a\0b' } }],
    ['an unknown path', 404, 'not_found', 'GET', '/api/v1/nothing', {}],
    ['another method', 405, 'method_not_allowed', 'DELETE', path, {}],
    ['another method, in capital letters', 405, 'method_not_allowed', 'DELETE', path.toUpperCase(), {}],
  ];
  for (const [name, status, code, method, url, options] of cases) {
    const answer = await api.call(method, url, options);
    t.equal(answer.status, status, name);
    t.equal(answer.body.code, code, name);
    t.type(answer.body.message, 'string', name);
  }
  const other = await api.call('DELETE', path);
  t.equal(other.headers.get('allow'), 'POST');
  const shape = await api.call('POST', path, { body: { text: 7 } });
  t.same(shape.body.details.issues[0].path, 'body.text');
  const typo = await api.call('POST', `${path}?enviroment=a`, { body: { text: '' } });
  t.equal(typo.body.message, 'This route has no query parameter "enviroment"; it has environment.');
});

t.test('an error of a handler is rendered; only operators see the cause', async (t) => {
  const recorded = recordingLog();
  const refused = new Problem('name_taken', 'Taken.', { details: { kind: 'App' }, cause: new Error('inner-cause') });
  const late = new Problem('too_many_requests', 'Later.', { details: { retryAfterSeconds: 7 } });
  const api = await testApi(t, {
    log: recorded.log,
    routes: [
      { ...failing('/refused', refused), method: 'POST' },
      failing('/late', late),
      failing('/broken', new Error('connection string postgres://svc:hunter2@db')),
      { ...failing('/conflict', new KubeError(409, 'Conflict', 'the object has been modified')), method: 'POST' },
      failing('/kube-down', new KubeError(503, 'ServiceUnavailable', 'etcd')),
      failing('/db-down', Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })),
    ],
  });
  const named = await api.call('POST', '/api/v1/refused');
  t.equal(named.status, 409);
  t.same(named.body, { code: 'name_taken', message: 'Taken.', details: { kind: 'App' } });
  t.equal((await api.call('GET', '/api/v1/late')).headers.get('retry-after'), '7');
  const failure = await api.call('GET', '/api/v1/broken', { headers: { 'x-request-id': 'r1' } });
  t.equal(failure.status, 500);
  t.same(failure.body, {
    code: 'internal',
    message: 'An internal error occurred. Report the request id to your platform admin.',
    details: { requestId: 'r1' },
  });
  t.match(recorded.text(), 'hunter2', 'the cause is in the log');
  t.equal((await api.call('POST', '/api/v1/conflict')).body.code, 'conflict');
  t.equal((await api.call('GET', '/api/v1/kube-down')).status, 503);
  t.equal((await api.call('GET', '/api/v1/db-down')).body.code, 'unavailable');
});

t.test('every request is logged and counted once, by pattern', async (t) => {
  const recorded = recordingLog();
  const registry = new Registry();
  const api = await testApi(t, { routes: [echo], log: recorded.log, registry });
  await api.call('POST', '/api/v1/things/my-secret?environment=my-secret', {
    body: { text: 'my-secret' },
    headers: { 'x-request-id': 'r1' },
  });
  await api.call('GET', '/no/such/my-secret', { headers: { authorization: 'Bearer my-secret' } });
  const text = await registry.metrics();
  t.match(text, 'http_requests_total{method="POST",route="/api/v1/things/:name",status="200"} 1');
  t.match(text, 'http_requests_total{method="GET",route="unmatched",status="404"} 1');
  t.match(text, 'http_request_duration_seconds_count{method="POST",route="/api/v1/things/:name"} 1');
  t.match(recorded.entries, [
    { msg: 'request', method: 'POST', route: '/api/v1/things/:name', status: 200, ms: Number, requestId: 'r1' },
    { msg: 'request', method: 'GET', route: 'unmatched', status: 404 },
  ]);
  t.notMatch(recorded.text() + text, 'my-secret');
});

t.test('a path without parameters is found as the router finds it', async (t) => {
  const named = (method: 'GET' | 'POST', path: string, name: string) =>
    route({
      method,
      path,
      access: 'public' as const,
      summary: 'Says its name.',
      tag: 'things',
      replies: { 200: z.object({ name: z.string() }) },
      handle: ({ params }) => Promise.resolve({ status: 200, body: { name, ...params } }),
    });
  const routes = [
    named('GET', '/things/first', 'first'),
    named('GET', '/things/:thing', 'one'),
    named('GET', '/things/second', 'second'),
    named('POST', '/things/second', 'posted'),
  ];
  const api = await testApi(t, { routes });
  for (const [method, path, expected] of [
    ['GET', '/api/v1/things/first', { name: 'first' }],
    ['GET', '/api/v1/things/first?a=b', { name: 'first' }],
    ['GET', '/api/v1/things/second', { name: 'one', thing: 'second' }],
    ['POST', '/api/v1/things/second', { name: 'posted' }],
    ['POST', '/api/v1/things/second/', { name: 'posted' }],
    ['POST', '/API/v1/things/Second', { name: 'posted' }],
    ['POST', '/api/v1/things/first', { code: 'method_not_allowed' }],
  ] as const) {
    t.match((await api.call(method, path)).body, expected, `${method} ${path}`);
  }
});

t.test('an operation can be declared only once', (t) => {
  t.throws(
    () =>
      createHttpApp({
        routes: [echo, echo],
        authenticate: () => Promise.reject(new Error('unused')),
        authorize: () => Promise.reject(new Error('unused')),
        recordAudit: () => Promise.reject(new Error('unused')),
        log: silentLog,
        registry: new Registry(),
        baseUrl: 'http://x',
        version: '1',
      }),
    /POST \/api\/v1\/things\/:name is declared twice/,
  );
  t.end();
});

t.test('the OpenAPI document is generated from the schemas that validate', async (t) => {
  const api = await testApi(t, { routes: [echo] });
  const { body } = await api.call('GET', '/api/v1/openapi.json', { headers: { authorization: '' } });
  t.equal(body.openapi, '3.1.0');
  const operation = body.paths['/things/{name}'].post;
  t.equal(operation.operationId, 'postThingsByName');
  t.match(operation.parameters, [
    { name: 'name', in: 'path', required: true, schema: { type: 'string', maxLength: 10 } },
    { name: 'environment', in: 'query', required: false },
  ]);
  t.same(operation.requestBody.content['application/json'].schema.required, ['text']);
  const refusals = [400, 401, 403, 404, 408, 409, 413, 415, 422, 429, 503];
  const replies = Object.keys(echo.replies);
  t.same(new Set(Object.keys(operation.responses)), new Set([...replies, ...refusals.map(String), 'default']));
  for (const status of [...refusals, 'default']) {
    const { schema } = operation.responses[status].content['application/json'];
    t.match(schema, { $ref: '#/components/schemas/Problem' }, String(status));
  }
});

t.test('a refusal that the OpenAPI document does not declare fails in tests', async (t) => {
  const recorded = recordingLog();
  const taken = new Problem('name_taken', 'Taken.');
  const routes = [failing('/things', taken), { ...failing('/things', taken), method: 'POST' as const }];
  const api = await testApi(t, { log: recorded.log, routes });
  t.equal((await api.call('GET', '/api/v1/things')).status, 500);
  t.match(recorded.text(), 'GET /things does not declare 409');
  t.equal((await api.call('POST', '/api/v1/things')).status, 409);
  const { paths } = (await api.call('GET', '/api/v1/openapi.json')).body;
  const declared = (method: string) => Object.keys(paths['/things'][method].responses).map(Number).filter(Boolean);
  t.same([declared('get').includes(409), declared('post').includes(409)], [false, true]);
});

t.test('the OpenAPI document lists optional bodies, other proofs and streams', async (t) => {
  const common = { summary: 'Does.', tag: 'things', handle: async () => ({ status: 204 }) } as const;
  const ofThing = { ...common, replies: { 200: z.object({}) } } as const;
  const optional = z.strictObject({ text: z.string() }).partial();
  const logs = { query: z.object({ follow: z.string().optional() }) };
  const api = await testApi(t, {
    routes: [
      echo,
      route({ ...ofThing, method: 'PUT', path: '/things', access: 'session', body: optional }),
      route({ ...ofThing, method: 'PATCH', path: '/things', access: 'session', body: optional }),
      route({ ...ofThing, method: 'POST', path: '/hooks/:name', access: 'webhook', lateBody: optional }),
      route({ ...ofThing, method: 'POST', path: '/hooks/:name/:secret', access: 'webhook', lateBody: optional }),
      route({ ...ofThing, ...logs, method: 'GET', path: '/things', access: 'session' }),
    ],
  });
  const { paths } = (await api.call('GET', '/api/v1/openapi.json')).body;
  const required = (path: string, method: string) => paths[path][method].requestBody.required;
  t.equal(required('/things/{name}', 'post'), true);
  t.equal(required('/things', 'put'), false, 'an empty one counts as {}');
  t.equal(required('/things', 'patch'), true, 'an empty change is refused');
  t.equal(required('/hooks/{name}', 'post'), true);
  t.match(paths['/hooks/{name}'].post.security, [{ webhookToken: [] }, { webhookSignature: [] }]);
  t.same(paths['/hooks/{name}/{secret}'].post.security, [], 'the URL is the proof');
  t.same(Object.keys(paths['/things'].get.responses[200].content), ['application/json', 'application/x-ndjson']);
  t.same(Object.keys(paths['/things'].put.responses[200].content), ['application/json']);
});

t.test('the signal of a handler is aborted when the client disconnects', async (t) => {
  const aborted = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const api = await testApi(t, {
    routes: [
      route({
        method: 'GET',
        path: '/slow',
        access: 'public',
        summary: 'Waits.',
        tag: 'things',
        replies: { 204: null },
        handle: async ({ signal }) => {
          entered.resolve();
          await once(signal, 'abort');
          aborted.resolve();
          return { status: 204 };
        },
      }),
    ],
  });
  const leaving = new AbortController();
  const call = fetch(`${api.url}/api/v1/slow`, { signal: leaving.signal });
  await entered.promise;
  leaving.abort();
  await t.rejects(call);
  await aborted.promise;
});

t.test('a server keeps an idle connection longer than the ingress, so that no request is lost', async (t) => {
  const server = createHttpServer({ port: 0, host: '127.0.0.1', listener: (_request, response) => response.end() });
  const port = await server.start();
  t.teardown(() => server.stop());
  const client = connect(port, '127.0.0.1');
  client.end('GET / HTTP/1.1\r\nHost: api\r\n\r\n');
  const [, seconds] = /keep-alive: timeout=(\d+)/i.exec(await text(client)) ?? [];
  t.ok(Number(seconds) > 90, 'Traefik keeps one for 90 s');
});

t.test('a server that stops finishes current requests and refuses new ones', async (t) => {
  const entered = Promise.withResolvers<void>();
  const go = Promise.withResolvers<void>();
  const server = createHttpServer({
    port: 0,
    host: '127.0.0.1',
    listener: (_request, response) => {
      entered.resolve();
      void go.promise.then(() => response.end('done'));
    },
  });
  const port = await server.start();
  const idle = connect(port, '127.0.0.1');
  await once(idle, 'connect');
  const running = fetch(`http://127.0.0.1:${port}/`);
  await entered.promise;
  const stopped = server.stop();
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'nothing new');
  go.resolve();
  t.equal(await (await running).text(), 'done');
  idle.destroy();
  await stopped;
});

t.test('every answer, errors included, keeps browsers from using it', async (t) => {
  for (const [baseUrl, transport] of [
    ['http://console.test', null],
    ['https://console.test', 'max-age=31536000'],
  ] as const) {
    const api = await testApi(t, { routes: [echo, failing('/broken', new Error('inner'))], baseUrl });
    const answers = [
      await api.call('POST', '/api/v1/things/a', { body: { text: '' } }),
      await api.call('POST', '/api/v1/things/a', { body: '{' }),
      await api.call('POST', '/api/v1/things/a', { body: { text: 'x'.repeat(100_000) } }),
      await api.call('POST', '/api/v1/things/a', { headers: { authorization: '' } }),
      await api.call('DELETE', '/api/v1/things/a'),
      await api.call('GET', '/nothing'),
      await api.call('GET', '/api/v1/broken'),
      await api.call('GET', '/api/v1/openapi.json'),
    ];
    t.same(
      answers.map(({ status }) => status),
      [200, 400, 413, 401, 405, 404, 500, 200],
    );
    for (const { status, headers } of answers) {
      t.match(
        Object.fromEntries(headers),
        {
          'cache-control': 'no-store',
          'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
          'referrer-policy': 'no-referrer',
          'x-content-type-options': 'nosniff',
          'x-frame-options': 'DENY',
        },
        `${status}`,
      );
      t.equal(headers.get('strict-transport-security'), transport);
    }
  }
});
