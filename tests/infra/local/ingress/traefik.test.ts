import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import tap from 'tap';
import { buildDigest, tools } from '../../../../infra/testcluster/binaries.ts';
import { defaultHome, layoutOf } from '../../../../infra/testcluster/settings.ts';
import { consoleRetry, consoleRoute, signInBody } from '../../../../infra/manifests/platform/network.ts';
import { consoleHost, type PlatformSettings } from '../../../../infra/manifests/platform/settings.ts';
import { signInBodyLimit, signInPath } from '../../../../runtime/contracts/api/sessions.ts';
import type { KubeObject } from '../../../../runtime/contracts/kubernetes.ts';
import { generateApiKey } from '../../../../runtime/domain/api-key.ts';
import { systemNamespace } from '../../../../runtime/domain/labels.ts';
import { systemClock } from '../../../../runtime/domain/clock.ts';
import { createBodyDiscards } from '../../../../runtime/http/body-discard.ts';
import { freePort, untilListening } from '../../../support/servers.ts';
import { refuseGateCheck } from '../../../../gate/interceptor/missing-checker.ts';
import { gateUnavailable } from '../../../../runtime/contracts/gate-denials.ts';
import { appHost, appObjects, createWorld, echo, namespace, sliceOf, type Test } from './world.ts';

/**
 * The same requests to this ingress and to the Traefik of the test cluster, if that is built: there must be no
 * difference.
 */
const binary = traefikBinary();

function traefikBinary(): string {
  const tool = tools.find(({ name }) => name === 'traefik');
  if (!tool) throw new Error('the test cluster has no Traefik');
  const sources = join(import.meta.dirname, '../../../../infra/testcluster/build/traefik');
  const folder = `traefik-${buildDigest(tool, sources, process.arch)}`;
  return join(layoutOf(defaultHome()).cache, folder, 'traefik');
}

/** Starts Traefik with the route and the middlewares of the objects. @returns its port */
async function startTraefik(
  test: Test & Pick<typeof tap, 'testdir'>,
  objects: KubeObject[],
  ports: { app: readonly number[]; authz: number },
) {
  const specsOf = (name: string) =>
    Object.fromEntries(objects.filter(({ kind }) => kind === name).map(({ metadata, spec }) => [metadata.name, spec]));
  const middlewares = specsOf('Middleware');
  const serversTransports = specsOf('ServersTransport');
  const route = objects.find(({ kind }) => kind === 'IngressRoute');
  if (!route) throw new Error('no route');
  const { routes } = route.spec as {
    routes: {
      match: string;
      priority: number;
      middlewares?: { name: string }[];
      services: { serversTransport: string }[];
    }[];
  };
  const routers = routes.map(({ match: rule, priority, middlewares: names = [] }, index) => {
    return [`app-${index}`, { rule, priority, service: 'app', middlewares: names.map(({ name }) => name) }] as const;
  });
  const dynamic = {
    http: {
      middlewares,
      // Traefik refuses an empty one.
      ...(Object.keys(serversTransports).length > 0 && { serversTransports }),
      routers: Object.fromEntries(routers),
      services: {
        app: {
          loadBalancer: {
            servers: ports.app.map((port) => ({ url: `http://127.0.0.1:${port}` })),
            serversTransport: routes[0]?.services[0]?.serversTransport,
          },
        },
      },
    },
  };
  const written = JSON.stringify(dynamic).replace(/http:\/\/svc-authz\.[^/]*/, `http://127.0.0.1:${ports.authz}`);
  const folder = test.testdir({ 'dynamic.yaml': written });
  const port = await freePort();
  const child = spawn(
    binary,
    [
      `--entryPoints.web.address=127.0.0.1:${port}`,
      `--providers.file.filename=${join(folder, 'dynamic.yaml')}`,
      '--global.checkNewVersion=false',
      '--global.sendAnonymousUsage=false',
      '--log.level=ERROR',
    ],
    { stdio: 'ignore' },
  );
  test.teardown(async () => {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  await untilListening(port, child);
  return port;
}

/**
 * Header fields with lower-case names, in one order, without those about the connection, times or Go. Traefik also asks
 * the app for an upgrade to h2c, which this ingress deliberately does not.
 */
function fields(raw: readonly string[], without: readonly string[] = []): string[] {
  const left = ['connection', 'keep-alive', 'date', 'transfer-encoding', 'accept-encoding', 'upgrade', ...without];
  return raw
    .flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1] ?? '']] : []))
    .filter(([name = '']) => !left.includes(name))
    .map(([name, value]) => `${name}: ${value}`)
    .sort();
}

interface Sent {
  method?: string;
  path?: string;
  headers?: Record<string, string | string[]>;
  body?: string;
}

const key = { 'X-API-Key': 'good' };
const issued = generateApiKey().key;
const spellings = ['X-Svc-Key-Prefix', 'x_svc_key_prefix', 'X.Svc.Key-Name', 'X~Api~Key', 'RATELIMIT', 'Rate_Limit'];
const forged = Object.fromEntries(spellings.map((name) => [name, 'forged']));
const forwarded = Object.fromEntries(
  ['For', 'Host', 'Port', 'Proto', 'Server', 'Uri', 'Method', 'Prefix', 'Tls-Client-Cert'].map((name) => [
    `X-Forwarded-${name}`,
    'forged',
  ]),
);
const requests: Sent[] = [
  {},
  { headers: key },
  { method: 'POST', path: '/a?b=c&d', headers: { ...key, Cookie: 'a=b', Accept: ['x/y', 'z'] }, body: 'content' },
  { method: 'DELETE', headers: key, body: 'content' },
  { method: 'PUT', headers: { ...key, 'Transfer-Encoding': 'chunked' }, body: 'content' },
  { method: 'HEAD', headers: key },
  { method: 'HEAD' },
  { method: 'OPTIONS', headers: { 'Access-Control-Request-Method': 'GET', Origin: 'https://a.example' } },
  { method: 'OPTIONS' },
  { headers: { 'X-API-Key': ['good', 'good'] } },
  ...[issued, `Bearer ${issued}`, `${issued}x`, ['good', issued], issued.toUpperCase(), 'svc_short_key', ''].map(
    (sent): Sent => ({ headers: { 'X-API-Key': sent } }),
  ),
  { headers: { ...forged, ...key } },
  { headers: { ...forwarded, 'X-Real-Ip': 'forged', X_Forwarded_For: 'alias', Forwarded: 'for=x', ...key } },
  { headers: { ...forwarded, 'X-Forwarded-For': ['1.2.3.4', '5.6.7.8'] } },
  ...['X-Svc-Key-Prefix', 'X-API-Key', 'X-Forwarded-For, X-Real-Ip, Host', 'close, Cookie', 'Content-Length'].map(
    (Connection): Sent => ({ method: 'POST', headers: { ...key, Cookie: 'a', Connection }, body: 'content' }),
  ),
  { headers: { ...key, Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQ' } },
  { headers: { ...key, TE: 'trailers, gzip', 'Proxy-Authorization': 'x', 'Proxy-Connection': 'x' } },
  { headers: { ...key, 'User-Agent': 'me', Authorization: 'Basic x', Referer: 'http://a/' } },
  ...[
    '/x/../y',
    '/x//y/',
    '/%61%2f%2F',
    '/a%20b',
    '/.',
    '/..',
    '/x/.',
    '/x;y=1?z;w',
    '/?',
    '/a?b?c#d',
    '/a|b',
    '/%E4',
  ].map((path): Sent => ({ path, headers: key })),
];

/** Requests sent as raw bytes, for which only the statuses are compared. */
const heads = [
  `GET / HTTP/1.1\r\nHost: ${appHost}.`,
  `GET / HTTP/1.1\r\nHost: ${appHost.toUpperCase()}`,
  `GET / HTTP/1.1\r\nHost: ${appHost}:1`,
  `GET / HTTP/1.1\r\nHost: ${appHost}..`,
  `GET / HTTP/1.1\r\nHost: other`,
  `GET / HTTP/1.1\r\nHost: ${appHost}\r\nHost: ${appHost}`,
  'GET / HTTP/1.1',
  `GET http://${appHost}/ HTTP/1.1\r\nHost: other`,
  `GET http://other/ HTTP/1.1\r\nHost: ${appHost}`,
  `GET /%zz HTTP/1.1\r\nHost: ${appHost}`,
  `GET /a#b HTTP/1.1\r\nHost: ${appHost}`,
  `GET x HTTP/1.1\r\nHost: ${appHost}`,
  `GET / HTTP/1.1\r\nHost: ${appHost}\r\nX-API-Key : good`,
  `GET / HTTP/1.1\r\nHost: ${appHost}\r\nContent-Length: 0\r\nContent-Length: 1`,
  `GET http://${appHost}?x HTTP/1.1\r\nHost: other`,
  `GET https://${appHost}/ HTTP/1.1\r\nHost: other`,
  `GET //${appHost}/x HTTP/1.1\r\nHost: other`,
  `GET / HTTP/1.1\r\nHost: ${appHost}:1:2`,
  `GET / HTTP/1.1\r\nHost: x@${appHost}`,
  `GET / HTTP/1.1\r\nHost: ${appHost}, other`,
  `GET / HTTP/1.0\r\nHost: ${appHost}`,
  `GET /?a;b=%zz HTTP/1.1\r\nHost: ${appHost}`,
];

/**
 * Sends everything through both, and compares the results at the client, the app and the checker.
 * @param gone a port of the app where nothing listens any longer
 */
async function compare(
  t: Test & Pick<typeof tap, 'testdir' | 'same' | 'equal' | 'not'>,
  objects: KubeObject[],
  gone: readonly number[] = [],
): Promise<void> {
  const world = await createWorld(t);
  const seen: { app: IncomingMessage[]; authz: IncomingMessage[] } = { app: [], authz: [] };
  const app = await world.serve('api', 'shop-prod', (request, response) => {
    seen.app.push(request);
    response.setHeader('X-Frame-Options', 'DENY');
    response.setHeader('Set-Cookie', ['a=1', 'b=2']);
    echo(request, response);
  });
  const authz = await world.serveChecker((request, response) => {
    seen.authz.push(request);
    const {
      'x-api-key': sent,
      'x-forwarded-method': method,
      'access-control-request-method': requestedMethod,
    } = request.headers;
    const passes = sent === 'good' || (method === 'OPTIONS' && requestedMethod !== undefined);
    response.setHeader('X-Svc-Key-Prefix', 'abcdefgh').setHeader('X-Other', 'x').setHeader('RateLimit', ['a', 'b']);
    response.writeHead(passes ? 200 : 401, { 'Content-Type': 'application/json', Connection: 'close' }).end('{"no":1}');
  });
  await world.put(...objects, ...gone.map((port) => sliceOf('api', namespace, port)));
  const traefik = await startTraefik(t, objects, { app: [app.port, ...gone], authz: authz.port });

  const outcome = async (port: number, { method = 'GET', path = '/', headers = {}, body }: Sent) => {
    seen.app = [];
    seen.authz = [];
    const length = body !== undefined && !headers['Transfer-Encoding'] ? { 'Content-Length': String(body.length) } : {};
    const options = {
      port,
      host: '127.0.0.1',
      method,
      path,
      agent: false,
      headers: { host: appHost, ...length, ...headers },
    };
    const request = httpRequest(options);
    request.end(body);
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    const content = await text(reply);
    const { body: received = content } = (reply.statusCode === 200 && content ? JSON.parse(content) : {}) as {
      body?: string;
    };
    return {
      status: reply.statusCode,
      headers: fields(reply.rawHeaders, ['content-length']),
      body: received,
      app: seen.app.map(({ method: verb, url, rawHeaders }) => [verb, url, ...fields(rawHeaders)]),
      authz: seen.authz.map(({ method: verb, url, rawHeaders }) => [
        verb,
        url,
        ...fields(rawHeaders, ['host', 'user-agent']),
      ]),
    };
  };
  while ((await outcome(traefik, {})).status === 404) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const request of requests) {
    const expected = await outcome(traefik, request);
    t.not(expected.status, 502, 'a pod accepts it');
    t.same(await outcome(world.port, request), expected, JSON.stringify(request));
  }

  const status = async (port: number, head: string) => {
    const socket = connect(port, '127.0.0.1');
    socket.write(`${head}\r\nConnection: close\r\n\r\n`);
    return /^HTTP\/1\.[01] (\d+)/.exec(await text(socket))?.[1];
  };
  for (const head of heads) t.equal(await status(world.port, head), await status(traefik, head), JSON.stringify(head));
}

const objects = appObjects({ gated: true, security: { headers: true, csp: [] } });
const unbuilt = { skip: !existsSync(binary) && 'Traefik is not built' };

tap.test('requests and responses are the same as through Traefik', unbuilt, (t) => compare(t, objects));

tap.test('requests and responses are the same as through Traefik without a gate', unbuilt, (t) =>
  compare(t, appObjects()),
);

tap.test('requests and responses are the same as through Traefik when a pod is gone', unbuilt, async (t) =>
  compare(t, objects, [await freePort()]),
);

tap.test(
  'requests and responses are the same as through Traefik with middlewares that add and remove headers',
  unbuilt,
  (t) => {
    const specs: Record<string, unknown> = {
      'svc-gate-strip': {
        headers: {
          customRequestHeaders: { 'x-new': 'n', Accept: '' },
          customResponseHeaders: { 'Set-Cookie': '', 'x-new': 'n', 'Content-Type': 'a/b' },
        },
      },
    };
    return compare(
      t,
      objects.map((object) => ({ ...object, spec: specs[object.metadata.name] ?? object.spec })),
    );
  },
);

tap.test('without a checker, both pass on the denial of the interceptor that stands in for it', unbuilt, async (t) => {
  const world = await createWorld(t);
  const app = await world.serve('api', namespace, (_, response) => response.writeHead(500).end('of the app'));
  let ready = false;
  const standIn = { denials: { record: () => undefined }, clock: systemClock, discards: createBodyDiscards() };
  const authz = await world.serveChecker((request, response) => {
    if (ready) response.writeHead(200).end();
    else refuseGateCheck(request, response, standIn);
  });
  await world.put(...objects);
  const traefik = await startTraefik(t, objects, { app: [app.port], authz: authz.port });
  const ask = async (port: number, method: string) => {
    const request = httpRequest({ port, host: '127.0.0.1', method, agent: false, headers: { host: appHost, ...key } });
    request.end();
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    return { status: reply.statusCode, headers: reply.headers, body: await text(reply) };
  };
  while ((await ask(traefik, 'GET')).status === 404) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const port of [traefik, world.port]) {
    ready = false;
    for (const method of ['GET', 'POST', 'OPTIONS']) {
      const denial = await ask(port, method);
      t.equal(denial.status, 503);
      t.equal(denial.body, gateUnavailable.body);
      t.match(denial.headers, { 'retry-after': '10', 'access-control-allow-origin': '*' });
    }
    ready = true;
    t.match(await ask(port, 'GET'), { status: 500, body: 'of the app' }, 'the error of the app is its own');
  }
});

tap.test(
  'both refuse a sign-in with a large body before the API, and wait for the end of a small one',
  unbuilt,
  async (t) => {
    const world = await createWorld(t);
    let seen: unknown[] = [];
    const api = await world.serve('console-api', systemNamespace, (request, response) => {
      seen.push(`${request.method} ${request.url}`);
      request.resume().once('end', () => response.end('of the API'));
    });
    const settings = { appsDomain: 'apps.localhost', entryPoints: ['web'] } as PlatformSettings;
    const manifests = [consoleRetry(), signInBody(), consoleRoute(settings)];
    await world.put(...manifests);
    const traefik = await startTraefik(t, manifests, { app: [api.port], authz: api.port });
    const start = (port: number, path: string, length: number | undefined) => {
      const framing = length === undefined ? { 'transfer-encoding': 'chunked' } : { 'content-length': length };
      const headers = { host: consoleHost(settings), ...framing };
      const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', path, agent: false, headers });
      request.on('error', () => undefined).flushHeaders();
      t.teardown(() => request.destroy());
      return request;
    };
    const replyTo = async (request: ReturnType<typeof start>) => {
      const [reply] = (await once(request, 'response')) as [IncomingMessage];
      return { status: reply.statusCode, type: reply.headers['content-type'], body: await text(reply), seen };
    };
    const outcomes = async (port: number) => {
      const send = (path: string, bytes: number, length: number | undefined) => {
        seen = [];
        const request = start(port, path, length);
        request.end(Buffer.alloc(bytes, ' '));
        return replyTo(request);
      };
      const all: unknown[] = [];
      for (const path of [
        signInPath,
        `${signInPath}?a=b`,
        '/api/v1/sess%69on',
        `${signInPath}/`,
        '/api/v1/other',
        '/',
      ]) {
        for (const bytes of [0, signInBodyLimit, signInBodyLimit + 1]) {
          all.push([path, bytes, await send(path, bytes, bytes), bytes > 0 && (await send(path, bytes, undefined))]);
        }
      }
      seen = [];
      all.push(await replyTo(start(port, signInPath, 2 ** 20)));
      const unfinished = start(port, signInPath, 10);
      unfinished.write('123456789');
      await send(signInPath, 1, 1);
      t.same(seen, [`POST ${signInPath}`], 'the API gets none that is not complete');
      unfinished.end('0');
      all.push(await replyTo(unfinished));
      return all;
    };
    const status = async () => (await replyTo(start(traefik, signInPath, 2 ** 20))).status;
    while ((await status()) === 404) await new Promise((resolve) => setTimeout(resolve, 50));
    const expected = await outcomes(traefik);
    t.match(expected, [
      [],
      [],
      [signInPath, signInBodyLimit + 1, { status: 413, seen: [] }, { status: 413, seen: [] }],
    ]);
    t.same(await outcomes(world.port), expected);
  },
);

tap.test('both close an idle connection before the app does, and open another', unbuilt, async (t) => {
  const world = await createWorld(t);
  let closers: string[] = [];
  const sockets = new Set<Socket>();
  const app = await world.serve('api', namespace, ({ socket }, response) => {
    response.end(sockets.has(socket) ? 'again' : 'first');
    if (sockets.has(socket)) return;
    sockets.add(socket);
    let closer = 'app';
    socket.once('end', () => (closer = 'ingress'));
    socket.once('close', () => {
      closers.push(closer);
      sockets.delete(socket);
    });
  });
  const ungated = appObjects();
  await world.put(...ungated);
  const traefik = await startTraefik(t, ungated, { app: [app.port], authz: app.port });
  const ask = async (port: number) => {
    const request = httpRequest({ port, host: '127.0.0.1', method: 'POST', agent: false, headers: { host: appHost } });
    request.end('content');
    const [reply] = (await once(request, 'response')) as [IncomingMessage];
    return { status: reply.statusCode, body: await text(reply) };
  };
  while ((await ask(traefik)).status === 404) await new Promise((resolve) => setTimeout(resolve, 50));
  for (const port of [traefik, world.port]) {
    await ask(port);
    t.equal((await ask(port)).body, 'again', 'a connection is used again');
    // All of them, since the last connection of the other ingress may be open too.
    while (sockets.size > 0) await new Promise((resolve) => setTimeout(resolve, 50));
    t.same([...new Set(closers)], ['ingress']);
    closers = [];
    t.equal((await ask(port)).body, 'first');
  }
});
