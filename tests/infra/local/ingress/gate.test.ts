import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { createAddressMatcher } from '../../../../runtime/domain/address.ts';
import type { IngressOptions } from '../../../../infra/local/ingress/ingress.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../../runtime/contracts/resources/kinds.ts';
import { generateApiKey } from '../../../../runtime/domain/api-key.ts';
import { systemNamespace } from '../../../../runtime/domain/labels.ts';
import { appHost, appId, appObjects, createWorld, namespace, seenBy, sliceOf, type Test } from './world.ts';
import { forged, forgeries } from '../../../support/header-spellings.ts';

const key = 'svc_good';

/** Decides as svc-authz does, as far as the ingress can tell. */
function checker(requests: IncomingMessage[]): RequestListener {
  return (request, response) => {
    requests.push(request);
    const {
      'x-api-key': sent,
      'x-forwarded-method': method,
      'access-control-request-method': requestedMethod,
    } = request.headers;
    if (method === 'OPTIONS' && requestedMethod) response.writeHead(200).end();
    else if (sent !== key)
      response.writeHead(401, { 'Access-Control-Allow-Origin': '*' }).end('{"code":"invalid_key"}');
    else
      response
        .writeHead(200, { 'x-svc-key-prefix': 'abcdefgh', RateLimit: '"rate";r=1', 'X-Other': 'checker' })
        .end('yes');
  };
}

/** A world with a gated app, its checker, and the requests that the checker got. */
async function gatedApp(test: Test, options: Partial<IngressOptions> = {}) {
  const world = await createWorld(test, options);
  const requests: IncomingMessage[] = [];
  const authz = await world.serveChecker(checker(requests));
  const app = await world.serveEcho();
  const served: (string | undefined)[] = [];
  app.server.on('request', ({ url }: IncomingMessage) => served.push(url));
  await world.put(...appObjects({ gated: true, security: { headers: true } }));
  return { ...world, asked: requests, authz: authz.server, served: () => served };
}

/** The names and values of a raw head, by lower-case name. */
function fieldsOf({ rawHeaders }: { rawHeaders: string[] }): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  rawHeaders.forEach((name, index) => {
    if (index % 2 !== 0) return;
    fields.set(name.toLowerCase(), [...(fields.get(name.toLowerCase()) ?? []), rawHeaders[index + 1] ?? '']);
  });
  return fields;
}

t.test("the checker gets the fields that it needs, and the app gets the checker's headers", async (t) => {
  const world = await gatedApp(t);
  const headers = {
    'X-API-Key': key,
    Cookie: 'a=b',
    Authorization: 'Basic x',
    Origin: 'https://a.example',
    'User-Agent': 'u',
  };
  const reply = await world.ask({ method: 'POST', path: '/x/%2Fy?z=1', headers, body: 'content' });
  t.equal(reply.status, 200);
  const [question] = world.asked;
  t.equal(question?.method, 'GET');
  t.equal(question?.url, `/authorize?app=${appId}`);
  const fields = Object.fromEntries(question ? fieldsOf(question) : []);
  delete fields['connection'];
  t.same(fields, {
    host: ['svc-authz.svc-system.svc'],
    'x-api-key': [key],
    origin: ['https://a.example'],
    'x-forwarded-for': ['127.0.0.1'],
    'x-forwarded-method': ['POST'],
    'x-forwarded-proto': ['http'],
    'x-forwarded-host': [appHost],
    'x-forwarded-port': ['80'],
    'x-forwarded-uri': ['/x/%2Fy?z=1'],
  });
  const headersAtApp = seenBy(reply);
  t.equal(headersAtApp.body, 'content');
  t.match(headersAtApp.headers, {
    'x-svc-key-prefix': 'abcdefgh',
    ratelimit: '"rate";r=1',
    cookie: 'a=b',
    authorization: 'Basic x',
    'x-api-key': undefined,
    'x-svc-key-name': undefined,
    'x-other': undefined,
    'x-forwarded-uri': undefined,
  });
  t.equal(reply.headers['x-svc-key-prefix'], undefined, 'which the client does not get');
  t.equal(reply.headers['x-content-type-options'], 'nosniff');
});

t.test('a denial reaches the client unchanged, with the security headers, and never the app', async (t) => {
  const world = await gatedApp(t);
  for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS']) {
    const reply = await world.ask({ method });
    t.equal(reply.status, 401, method);
    t.equal(reply.body, '{"code":"invalid_key"}');
    t.match(reply.headers, { 'access-control-allow-origin': '*', 'x-frame-options': 'SAMEORIGIN' });
  }
  const head = await world.ask({ method: 'HEAD' });
  t.equal(head.status, 401);
  t.equal(head.body, '');
  t.same(world.served(), []);
});

t.test('without a response from the checker every request gets an empty 500', async (t) => {
  const world = await gatedApp(t);
  const attempt = () => world.ask({ headers: { 'X-API-Key': key } });
  const empty = async (name: string) => {
    const reply = await attempt();
    t.equal(reply.status, 500, name);
    t.equal(reply.body, '', name);
    t.equal(reply.headers['x-frame-options'], 'SAMEORIGIN', name);
  };
  t.equal((await attempt()).status, 200);
  world.authz.removeAllListeners('request');
  const answers: [string, string][] = [
    ['nothing', ''],
    ['no HTTP', 'hello\r\n\r\n'],
    ['half a head', 'HTTP/1.1 200 OK\r\nX-Svc'],
    ['half a body', 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n'],
  ];
  for (const [name, bytes] of answers) {
    world.authz.removeAllListeners('request').on('request', (request) => request.socket.end(bytes));
    await empty(name);
  }
  world.authz.close();
  world.authz.closeAllConnections();
  await empty('a port without a listener');
  for (const slice of world.kube.all(kinds.EndpointSlice)) {
    if (slice.metadata.namespace === systemNamespace) await world.remove(slice);
  }
  await empty('no pod');
  for (const service of world.kube.all(kinds.Service)) {
    if (service.metadata.namespace === systemNamespace) await world.remove(service);
  }
  await empty('no Service');
  t.equal(world.served().length, 1);
});

t.test('a checker that terminates is asked while there is no other, as through kube-proxy', async (t) => {
  const world = await gatedApp(t);
  const { port } = world.authz.address() as AddressInfo;
  const attempt = async () => (await world.ask({ headers: { 'X-API-Key': key } })).status;
  await world.put(sliceOf('svc-authz', systemNamespace, port, { terminating: true }));
  t.equal(await attempt(), 200);
  const denying = await world.serveChecker((_, response) => response.writeHead(401).end());
  t.equal(await attempt(), 401, 'a ready one is asked instead');
  await world.remove(sliceOf('svc-authz', systemNamespace, denying.port));
  await world.put(sliceOf('svc-authz', systemNamespace, port, { serving: false, terminating: true }));
  t.equal(await attempt(), 500, 'it no longer serves');
});

t.test('the request of a client that disconnects while the checker decides never reaches the app', async (t) => {
  const world = await gatedApp(t);
  const arrived = Promise.withResolvers<IncomingMessage>();
  world.authz.removeAllListeners('request').on('request', (request) => arrived.resolve(request));
  const socket = await world.open(`GET / HTTP/1.1\r\nHost: ${appHost}\r\nX-API-Key: ${key}\r\n\r\n`);
  const question = await arrived.promise;
  socket.destroy();
  await once(question.socket, 'close');
  t.same(world.served(), []);
  t.same(world.entries(), []);
});

t.test('without a gate, no header of the gate reaches the app in a spelling that servers confuse', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.put(...appObjects());
  const names = ['X-Svc-Key-Prefix', 'X-Svc-Key-Name'];
  const spelled = ['-', '_', '.'].flatMap((one) =>
    ['-', '_', '.'].flatMap((other) =>
      names.flatMap((name) => {
        const spelling = name.replace('-', one).replace(/-(?=[^-]*$)/, other);
        return [spelling, spelling.toLowerCase(), spelling.toUpperCase()];
      }),
    ),
  );
  const reply = await world.ask({ headers: Object.fromEntries(spelled.map((name) => [name, forged])) });
  t.equal(reply.status, 200);
  t.notMatch(reply.body, forged);
  const own = await world.ask({ headers: { 'X-Svc-Key': 'mine', Authorization: 'mine', 'X-Key': 'mine' } });
  t.match(seenBy(own).headers, { 'x-svc-key': 'mine', authorization: 'mine', 'x-key': 'mine' });
});

t.test('without a gate, no key of the platform reaches the app, and keys of its own do', async (t) => {
  const world = await createWorld(t);
  await world.serveEcho();
  await world.put(...appObjects());
  const issued = generateApiKey().key;
  const keyAtApp = async (sent: string | string[]) =>
    seenBy(await world.ask({ headers: { 'X-API-Key': sent, 'X-Svc-Key-Name': forged } })).headers['x-api-key'];
  for (const sent of [issued, `Bearer ${issued}`, ` ${issued}x`, ['mine', issued], [issued, 'mine']])
    t.equal(await keyAtApp(sent), undefined, String(sent));
  for (const own of ['mine', 'svc_short_key', issued.toUpperCase(), '', 'x'.repeat(5_000)])
    t.equal(await keyAtApp(own), own, own.slice(0, 80));
});

t.test('attack 1: no spelling of a header that the gate sets reaches the app from the client', async (t) => {
  const world = await gatedApp(t);
  const sent = forgeries();
  const reply = await world.ask({ headers: { ...sent, 'X-API-Key': key } });
  t.equal(reply.status, 200);
  t.notMatch(reply.body, forged);
  t.notMatch(reply.body, key);
  t.equal(seenBy(reply).headers['x-svc-key-prefix'], 'abcdefgh');

  await t.test('no forged gate header reaches the app with a preflight', async (t) => {
    const preflight = await world.ask({
      method: 'OPTIONS',
      headers: { ...sent, 'Access-Control-Request-Method': 'GET' },
    });
    t.equal(preflight.status, 200);
    t.notMatch(preflight.body, forged);
  });
  await t.test('no forged gate header reaches the app when repeated or in different cases', async (t) => {
    const twice = ['X-Svc-Key-Prefix', 'x-svc-key-prefix', 'X-SVC-KEY-PREFIX', 'X_Svc_Key_Prefix'].map(
      (name) => `${name}: ${forged}\r\n`,
    );
    const head = `GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\nX-API-Key: ${key}\r\n`;
    const bytes = await world.exchange(`${head}${twice.join('')}${twice.join('')}\r\n`);
    t.match(bytes, /^HTTP\/1\.1 200 /);
    t.notMatch(bytes, forged);
  });
  await t.test('no forged gate header reaches the app in trailers', async (t) => {
    const head = `POST / HTTP/1.1\r\nHost: ${appHost}\r\nX-API-Key: ${key}\r\nConnection: close\r\n`;
    const chunked = 'Transfer-Encoding: chunked\r\nTrailer: X-Svc-Key-Name\r\n\r\n1\r\na\r\n0\r\n';
    const bytes = await world.exchange(`${head}${chunked}X-Svc-Key-Name: ${forged}\r\n\r\n`);
    t.match(bytes, /^HTTP\/1\.1 200 /);
    t.notMatch(bytes, forged);
  });
  await t.test('no forged gate header reaches the app after 3,000 other headers', async (t) => {
    const many = Array.from({ length: 3000 }, (_, index) => `A${index}: b\r\n`).join('');
    const tail = `X-Svc-Key-Name: ${forged}\r\nX-API-Key: ${key}\r\nX-API-Key: other\r\n`;
    const bytes = await world.exchange(`GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n${many}${tail}\r\n`);
    t.match(bytes, /^HTTP\/1\.1 401 /);
  });
});

t.test('attack 2: Connection removes no header that the gate or the ingress sets', async (t) => {
  const world = await gatedApp(t);
  const lists = ['X-Svc-Key-Prefix', 'close, x-svc-key-prefix, X-Svc-Key-Name', 'X-Forwarded-For, X-Real-IP', 'Host'];
  for (const Connection of lists) {
    const reply = await world.ask({ headers: { 'X-API-Key': key, Connection } });
    t.equal(reply.status, 200, Connection);
    const headers = seenBy(reply).headers;
    t.match(headers, {
      'x-svc-key-prefix': 'abcdefgh',
      'x-forwarded-for': '127.0.0.1',
      'x-real-ip': '127.0.0.1',
      host: appHost,
    });
  }
  t.equal((await world.ask({ headers: { 'X-API-Key': key, Connection: 'X-API-Key' } })).status, 401);
  const framed = `POST / HTTP/1.1\r\nHost: ${appHost}\r\nX-API-Key: ${key}\r\nConnection: close, Content-Length, Transfer-Encoding\r\n`;
  const hidden = `GET /hidden HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`;
  const bytes = await world.exchange(`${framed}Content-Length: ${hidden.length}\r\n\r\n${hidden}`);
  t.match(bytes, /GET \/hidden/, 'which stays the body');
});

t.test('attack 3: forwarded headers change no decision for any client', async (t) => {
  const claims = {
    'X-Forwarded-Method': 'OPTIONS',
    'X-Forwarded-Uri': '/authorize?app=other',
    'X-HTTP-Method-Override': 'OPTIONS',
    'X-Forwarded-Host': 'elsewhere',
    'X-Forwarded-Proto': 'https',
    'Access-Control-Request-Method': 'GET',
  };
  for (const trusted of [createAddressMatcher([]), createAddressMatcher(['127.0.0.1'])]) {
    const world = await gatedApp(t, { trusted });
    for (const method of ['GET', 'POST', 'DELETE']) {
      t.equal((await world.ask({ method, headers: claims })).status, 401, method);
      t.equal((await world.ask({ method, headers: { ...claims, 'X-API-Key': key } })).status, 200, method);
    }
    for (const question of world.asked) {
      t.equal(question.url, `/authorize?app=${appId}`);
      t.not(question.headers['x-forwarded-method'], 'OPTIONS');
      t.equal(question.headers['x-forwarded-uri'], '/');
    }
  }

  await t.test('the last address in X-Forwarded-For is the one that the ingress saw', async (t) => {
    const chainFor = async (options: Partial<IngressOptions>, sent: string[]) => {
      const world = await gatedApp(t, options);
      await world.ask({ headers: { 'X-Forwarded-For': sent } });
      return world.asked[0]?.headers['x-forwarded-for'];
    };
    t.equal(await chainFor({}, ['203.0.113.7', '198.51.100.1']), '127.0.0.1');
    const trusted = createAddressMatcher(['127.0.0.1']);
    t.equal(await chainFor({ trusted }, ['203.0.113.7', '198.51.100.1']), '203.0.113.7, 198.51.100.1, 127.0.0.1');
  });
});

t.test('attack 4: every refusal has the same bytes', async (t) => {
  const world = await gatedApp(t);
  const refusals = await Promise.all(
    ['', 'X-API-Key: \r\n', 'X-API-Key: wrong\r\n', `X-API-Key: ${key}x\r\n`].map(async (field) => {
      const bytes = await world.exchange(`GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n${field}\r\n`);
      return bytes.replace(/^Date: .*\r\n/gm, '');
    }),
  );
  t.match(refusals[0], /^HTTP\/1\.1 401 Unauthorized\r\n/);
  for (const refusal of refusals) t.equal(refusal, refusals[0]);
});

t.test('attack 5: only a preflight passes without a key', async (t) => {
  const world = await gatedApp(t);
  const status = async (method: string, headers: Record<string, string>) =>
    (await world.ask({ method, headers })).status;
  t.equal(await status('OPTIONS', { 'Access-Control-Request-Method': 'GET' }), 200);
  t.equal(await status('OPTIONS', { Origin: 'https://example.com' }), 401);
  t.equal(await status('OPTIONS', { 'Access-Control-Request-Method': '' }), 401);
  t.equal(await status('OPTIONS', { Access_Control_Request_Method: 'GET' }), 401);
  t.equal(
    await status('OPTIONS', { 'Access-Control-Request-Method': 'GET', Connection: 'Access-Control-Request-Method' }),
    401,
  );
  t.equal(await status('GET', { 'Access-Control-Request-Method': 'GET' }), 401);
});

t.test('attack 6: a duplicate or huge key is refused, and the ingress keeps working', async (t) => {
  const world = await gatedApp(t);
  const status = async (sent: string | string[]) => (await world.ask({ headers: { 'X-API-Key': sent } })).status;
  t.equal(await status([key, key]), 401);
  t.equal(await status([key, 'other']), 401);
  t.equal(await status(`${key}, ${key}`), 401);
  t.equal(await status(key.repeat(115_000)), 401, '0.9 MB');
  const line = `GET / HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\nX-API-Key: ${'k'.repeat(1024 * 1024 + 8192)}`;
  t.match(await world.exchange(`${line}\r\n\r\n`), /^HTTP\/1\.1 431 /);
  t.equal(await status(key), 200);
});

t.test('attack 7: when the checker cannot decide, its response reaches the client', async (t) => {
  const world = await gatedApp(t);
  const unavailable = { 'Retry-After': '10', 'Content-Type': 'application/json' };
  world.authz
    .removeAllListeners('request')
    .on('request', (_, response) => response.writeHead(503, unavailable).end('{"code":"gate_unavailable"}'));
  const reply = await world.ask({ headers: { 'X-API-Key': key } });
  t.equal(reply.status, 503);
  t.equal(reply.body, '{"code":"gate_unavailable"}');
  t.equal(reply.headers['retry-after'], '10');
  t.same(world.served(), []);
});

t.test('no form of host or request target bypasses the gate', async (t) => {
  const world = await gatedApp(t);
  const first = (bytes: string) => /^HTTP\/1\.1 (\d+)/.exec(bytes)?.[1];
  const get = (target: string, ...hosts: string[]) =>
    world.exchange(
      `GET ${target} HTTP/1.1\r\n${hosts.map((host) => `Host: ${host}\r\n`).join('')}Connection: close\r\n\r\n`,
    );
  for (const host of [`${appHost}.`, appHost.toUpperCase(), `${appHost}:1`, `${appHost}.:80`, ` ${appHost}\t`]) {
    t.equal(first(await get('/', host)), '401', host);
  }
  for (const host of ['', `${appHost}..`, `${appHost}:1:2`, `${appHost},x`, `x@${appHost}`, `[${appHost}`, 'other']) {
    t.match(first(await get('/', host)), /^4(00|04)$/, host);
  }
  t.equal(first(await get('/', appHost, 'other')), '400', 'two hosts');
  t.equal(first(await get('/', 'other', appHost)), '400', 'two hosts');
  t.equal(first(await get('/')), '400', 'no host');
  for (const target of [
    `http://${appHost}/`,
    `HTTP://${appHost.toUpperCase()}:80/x`,
    `https://${appHost}?x`,
    `http://${appHost}`,
  ]) {
    t.equal(first(await get(target, 'other')), '401', target);
  }
  for (const target of ['*', 'x', `http://x@${appHost}/`, 'http:///', '/a#b', '/%zz', '/%', `ftp://${appHost}/`]) {
    t.equal(first(await get(target, appHost)), '400', target);
  }
  t.same(world.served(), []);
});

t.test('no framing hides a request from the gate', async (t) => {
  const world = await gatedApp(t);
  const hidden = `GET /hidden HTTP/1.1\r\nHost: ${appHost}\r\nConnection: close\r\n\r\n`;
  const length = (more = 0) => `Content-Length: ${hidden.length + more}\r\n`;
  const framings = [
    `${length(5)}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    `Transfer-Encoding: chunked\r\n${length(5)}\r\n0\r\n\r\n`,
    `Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n`,
    `Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
    `Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n`,
    `Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n`,
    `Transfer_Encoding: chunked\r\n\r\n`,
    `Transfer-Encoding: chunked\r\n\r\n0;x=\n\r\n\r\n`,
    `Transfer-Encoding: chunked\r\n\r\n0 \r\n\r\n`,
    `Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n`,
    `Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n`,
    `Content-Length: +0\r\n\r\n`,
    `Content-Length: 0, 0\r\n\r\n`,
    `X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    'Content-Length: 0\r\n\r\n',
    '\r\n',
  ];
  for (const framing of framings) {
    for (const method of ['POST', 'GET']) {
      const bytes = await world.exchange(
        `${method} / HTTP/1.1\r\nHost: ${appHost}\r\nX-API-Key: ${key}\r\n${framing}${hidden}`,
      );
      const answers = [...bytes.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
      t.ok(answers.length > 0, JSON.stringify(framing));
      t.ok(
        answers.slice(1).every((status) => status === '401' || status === '400'),
        `${method} ${JSON.stringify(framing)}`,
      );
    }
  }
  t.ok(world.served().length > 0);
  t.same(
    world.served().filter((url) => url === '/hidden'),
    [],
  );
});

t.test('a gate applies from the next request, and no middleware is ever left out', async (t) => {
  const world = await gatedApp(t);
  const open = appObjects();
  const [route, ...rest] = appObjects({ gated: true });
  if (!route) throw new Error('no route');
  await world.put(...open.toReversed());
  t.equal((await world.ask()).status, 200);
  for (const middleware of rest) await world.remove(middleware);
  await world.put(route);
  t.equal((await world.ask()).status, 404, 'its middlewares are still missing');
  for (const middleware of rest) await world.put(middleware);
  t.equal((await world.ask()).status, 401);
});

t.test('error pages replace the responses that they are configured for', async (t) => {
  const world = await createWorld(t);
  await world.serve('api', namespace, (request, response) => {
    response.writeHead(Number(request.url?.slice(1, 4)), { 'X-From': 'api' }).end('original');
  });
  await world.serve('pages', namespace, (request, response) => {
    response
      .writeHead(200, { 'Content-Type': 'text/html' })
      .end(`${request.method} ${request.headers.host} ${request.url}`);
  });
  const [route] = appObjects();
  const { routes } = (route?.spec ?? {}) as { routes?: object[] };
  const meta = { ...route, metadata: { name: 'api', namespace } };
  const errors = { status: ['404', '500-599'], service: { name: 'pages', port: 80 }, query: '/{status}.html?u={url}' };
  await world.put(
    { apiVersion: 'traefik.io/v1alpha1', kind: 'Middleware', metadata: { name: 'pages', namespace }, spec: { errors } },
    { ...meta, spec: { routes: [{ ...routes?.[0], middlewares: [{ name: 'pages' }] }] } } as KubeObject,
  );
  for (const status of [404, 500, 503, 599]) {
    const reply = await world.ask({ method: 'DELETE', path: `/${status}?a=b` });
    t.equal(reply.status, status);
    t.equal(reply.headers['x-from'], undefined);
    t.equal(reply.body, `GET ${appHost} /${status}.html?u=${encodeURIComponent(`http://${appHost}/${status}?a=b`)}`);
  }
  for (const status of [200, 403, 499]) t.equal((await world.ask({ path: `/${status}` })).body, 'original');
});
