import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import t from 'tap';
import { gateProbePath, invalidKeyBody } from '../../../runtime/contracts/gate-denials.ts';
import { classify, createGateProbe } from '../../../workers/controllers/gate-probe.ts';
import { freePort } from '../../support/servers.ts';

interface Teardown {
  teardown(end: () => unknown): void;
}

async function listen(t: Teardown, server: Server | TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    if ('closeAllConnections' in server) server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const host = 'api--shop-prod.apps.test:18080';
const never = new AbortController().signal;
const app = 'an-app';
const probeGate = createGateProbe((of) => `signature of ${of}`);
const refuse: RequestListener = (_request, response) => void response.writeHead(401).end(invalidKeyBody);
const serve: RequestListener = (_request, response) => void response.writeHead(200).end('hello');

/** An ingress with a configurable answer, which records its requests. */
async function ingress(t: Teardown, answer: (nth: number) => RequestListener, hosts = [host]) {
  const requests: { url: string | undefined; method: string | undefined; headers: IncomingHttpHeaders }[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    const { url, method, headers } = request;
    requests.push({ url, method, headers });
    answer(requests.length)(request, response);
  });
  server.on('connection', () => connections++);
  const address = `http://127.0.0.1:${await listen(t, server)}`;
  return {
    requests,
    address,
    connections: () => connections,
    probe: (signal = never) => probeGate({ app, address, hosts, signal }),
  };
}

t.test('the gate counts as active only when each of several connections is refused', async (t) => {
  const always = await ingress(t, () => refuse);
  t.same(await always.probe(), { kind: 'refused' });
  t.equal(always.requests.length, 10);
  t.equal(always.connections(), 10, 'each over its own connection');
  for (const { url, method, headers } of always.requests) {
    t.same([method, url, headers.host], ['GET', gateProbePath, host]);
    t.equal(headers['x-api-key'], 'signature of an-app');
  }
  const one = await ingress(t, (nth) => (nth === 7 ? serve : refuse));
  t.same(await one.probe(), { kind: 'mixed', status: 200 }, 'one replica of the ingress has the previous route');
  const behind = await ingress(t, (nth) => (nth === 1 ? serve : refuse));
  t.same(await behind.probe(), { kind: 'mixed', status: 200 }, 'whichever answers first');
});

t.test('without a key to sign with, a probe brings no key', async (t) => {
  const { requests, address } = await ingress(t, () => refuse);
  t.same(await createGateProbe()({ app, address, hosts: [host], signal: never }), { kind: 'refused' });
  t.equal(requests.length, 10);
  t.ok(requests.every(({ headers }) => !('x-api-key' in headers)));
});

t.test('several hosts count only when all of them get the same answer, every time', async (t) => {
  const hosts = [host, 'www.example.com', 'example.com'];
  const byHost = (other: RequestListener, usual: RequestListener, from = 0): RequestListener => {
    let requestCount = 0;
    return (request, response) => {
      const special = request.headers.host === 'www.example.com' && ++requestCount > from;
      (special ? other : usual)(request, response);
    };
  };
  const all = await ingress(t, () => refuse, hosts);
  t.same(await all.probe(), { kind: 'refused' });
  const counts = hosts.map((one) => all.requests.filter(({ headers }) => headers.host === one).length);
  t.same(counts, [10, 10, 10]);
  t.equal(all.connections(), 30);
  const open = await ingress(t, () => serve, hosts);
  t.same(await open.probe(), { kind: 'open', status: 200 });

  const about = { host: 'www.example.com' };
  for (const from of [0, 9]) {
    const listener = byHost(serve, refuse, from);
    const one = await ingress(t, () => listener, hosts);
    t.same(await one.probe(), { kind: 'mixed', status: 200, ...about }, `not gated, after ${from}`);
    const back = byHost(refuse, serve, from);
    const lifting = await ingress(t, () => back, hosts);
    t.match(await lifting.probe(), { kind: 'mixed', status: 200 }, `not open, after ${from}`);
  }
  const empty = byHost((_request, response) => response.writeHead(500).end(), refuse);
  const otherIngress = await ingress(t, () => empty, hosts);
  t.same(await otherIngress.probe(), { kind: 'unclear', ...about });
  t.equal(otherIngress.requests.length, 3, 'each was probed once');
});

t.test('an open route counts as open only when every connection finds it open', async (t) => {
  const open = await ingress(t, () => serve);
  t.same(await open.probe(), { kind: 'open', status: 200 });
  t.equal(open.requests.length, 10);
  const one = await ingress(t, (nth) => (nth === 10 ? refuse : serve));
  t.same(await one.probe(), { kind: 'mixed', status: 200 });
});

t.test('an answer that is neither refused nor open is probed only once', async (t) => {
  const cases: [RequestListener, object][] = [
    [(_request, response) => response.writeHead(500).end(), { kind: 'unclear' }],
    [
      (_request, response) => response.writeHead(503).end('{"code":"gate_unavailable","message":"…"}'),
      { kind: 'denied', code: 'gate_unavailable' },
    ],
    [() => undefined, { kind: 'silent' }],
    [(request) => request.socket.destroy(), { kind: 'silent' }],
    // A body that never ends.
    [(_request, response) => response.writeHead(401).write('{'), { kind: 'silent' }],
  ];
  for (const [answer, expected] of cases) {
    const { probe, requests } = await ingress(t, () => answer);
    t.same(await probe(), expected);
    t.equal(requests.length, 1);
  }
});

t.test('an ingress that does not listen or accept makes the result unknown', async (t) => {
  const refused = await probeGate({
    app,
    address: `http://127.0.0.1:${await freePort()}`,
    hosts: [host],
    signal: never,
  });
  t.same(refused, { kind: 'unreachable', reason: 'ECONNREFUSED' });
  const unknown = await probeGate({ app, address: 'http://ingress.invalid', hosts: [host], signal: never });
  t.match(unknown, { kind: 'unreachable', reason: /^E/ });
});

t.test('a controller that stops does not wait for the answer', async (t) => {
  const stopping = new AbortController();
  const { probe } = await ingress(t, () => () => stopping.abort());
  t.same(await probe(stopping.signal), { kind: 'silent' });
  const before = await ingress(t, () => refuse);
  t.match(await before.probe(stopping.signal), { kind: 'unreachable' });
});

t.test('an answer that cannot be the gate’s is not read, and a long one not to its end', async (t) => {
  const stream = await ingress(t, () => (_request, response) => void response.writeHead(200).write('data: …'));
  t.same(await stream.probe(), { kind: 'open', status: 200 });
  const { probe } = await ingress(t, () => (_request, response) => {
    // A body that never ends.
    response.writeHead(500).write('x'.repeat(131_072));
  });
  t.same(await probe(), { kind: 'open', status: 500 });
});

t.test('over TLS the app’s host selects the route, and the certificate is not verified', async (t) => {
  const folder = t.testdir();
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=another',
      '-days',
      '1',
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  );
  const names = new Set<unknown>();
  const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
    names.add((request.socket as TLSSocket).servername);
    refuse(request, response);
  });
  const address = `https://127.0.0.1:${await listen(t, server)}`;
  t.same(await probeGate({ app, address, hosts: [host], signal: never }), { kind: 'refused' });
  t.same([...names], ['api--shop-prod.apps.test']);
  const silentServer = createTcpServer();
  const mute = `https://127.0.0.1:${await listen(t, silentServer)}`;
  silentServer.on('connection', (socket) => t.teardown(() => socket.destroy()));
  t.same(await probeGate({ app, address: mute, hosts: [host], signal: never }), { kind: 'silent' });
});

t.test('only the exact bytes of the gate’s answer count as the gate', (t) => {
  t.same(classify(401, invalidKeyBody), { kind: 'refused' });
  t.same(classify(401, `${invalidKeyBody}\n`), { kind: 'open', status: 401 });
  t.same(classify(200, invalidKeyBody), { kind: 'open', status: 200 });
  t.same(classify(401, '{"code":"invalid_key","message":"No."}'), { kind: 'open', status: 401 });
  t.same(classify(500, '{"code":"misconfigured"}'), { kind: 'denied', code: 'misconfigured' });
  t.same(classify(503, '{"code":"misconfigured"}'), { kind: 'open', status: 503 });
  t.same(classify(500, 'null'), { kind: 'open', status: 500 });
  t.same(classify(502, 'Bad Gateway'), { kind: 'open', status: 502 });
  t.same(classify(404, '404 page not found\n'), { kind: 'open', status: 404 });
  t.end();
});
