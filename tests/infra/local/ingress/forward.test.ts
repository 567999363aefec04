import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { Agent, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { hostname } from 'node:os';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { createAddressMatcher } from '../../../../runtime/domain/address.ts';
import { fakeClock, settle } from '../../../support/clock.ts';
import { freePort } from '../../../support/servers.ts';
import { appHost, appObjects, createWorld, namespace, seenBy, sliceOf, type Test } from './world.ts';

/** A world with an open app. */
async function openApp(
  test: Test,
  listener?: (request: IncomingMessage, response: ServerResponse) => void,
  options: Parameters<typeof createWorld>[1] = {},
) {
  const world = await createWorld(test, options);
  const pod = listener ? await world.serve('api', namespace, listener) : await world.serveEcho();
  await world.put(...appObjects());
  return { ...world, pod: pod.server };
}

/** A request whose body and answer the test handles itself. */
function begin(port: number, options: { method?: string; headers?: Record<string, string>; path?: string } = {}) {
  const { headers, ...rest } = options;
  return httpRequest({ port, host: '127.0.0.1', agent: false, ...rest, headers: { host: appHost, ...headers } });
}

t.test('the X-Forwarded headers are set by the ingress, not by the client', async (t) => {
  const world = await openApp(t);
  const claims = Object.fromEntries(
    [
      'For',
      'Host',
      'Port',
      'Proto',
      'Server',
      'Uri',
      'Method',
      'Prefix',
      'Tls-Client-Cert',
      'Tls-Client-Cert-Info',
    ].map((name) => [`X-Forwarded-${name}`, 'forged']),
  );
  const headersAtApp = {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-host': appHost,
    'x-forwarded-port': '80',
    'x-forwarded-proto': 'http',
    'x-forwarded-server': hostname(),
    'x-real-ip': '127.0.0.1',
  };
  const about = (headers: Record<string, string>) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => /^x-(forwarded|real)/.test(name)));
  t.same(about(seenBy(await world.ask()).headers), headersAtApp);
  const spoofed = await world.ask({
    headers: { ...claims, 'X-Real-IP': 'forged', 'x-forwarded-for': ['1.2.3.4', '::1'] },
  });
  t.same(about(seenBy(spoofed).headers), headersAtApp);
  t.equal(seenBy(await world.ask({ host: `${appHost}:8080` })).headers['x-forwarded-port'], '8080');

  await t.test('the X-Forwarded headers of a trusted proxy are kept', async (t) => {
    const trusting = await createWorld(t, { trusted: createAddressMatcher(['127.0.0.0/8']) });
    await trusting.serveEcho();
    await trusting.put(...appObjects());
    const forged = {
      'X-Forwarded-For': ['203.0.113.7', '198.51.100.1'],
      'X-Forwarded-Proto': 'https',
      'X-Real-Ip': '203.0.113.7',
      'X-Forwarded-Host': 'shop.example.com',
      'X-Forwarded-Prefix': '/x',
    };
    t.match(seenBy(await trusting.ask({ headers: forged })).headers, {
      'x-forwarded-for': '203.0.113.7, 198.51.100.1, 127.0.0.1',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '443',
      'x-forwarded-host': 'shop.example.com',
      'x-forwarded-prefix': '/x',
      'x-real-ip': '203.0.113.7',
    });
  });
});

t.test('headers are forwarded both ways, except hop-by-hop ones', async (t) => {
  const world = await openApp(t, (request, response) => {
    response.writeHead(418, 'Short and stout', [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Seen',
      JSON.stringify(request.rawHeaders),
      'Content-Length',
      '2',
      'Connection',
      'X-Gone',
      'X-Gone',
      'hop',
      'Keep-Alive',
      'timeout=77',
      'Proxy-Authenticate',
      'Basic',
    ]);
    // With a string node:http would write the head in UTF-8.
    response.end(Buffer.from('ok'));
  });
  const reply = await world.ask({
    headers: {
      accept: ['a/b', 'c/d'],
      'x-custom': 'Ä',
      Connection: 'close, X-Drop',
      'X-Drop': 'hop',
      TE: 'trailers, gzip',
      'Proxy-Authorization': 'Basic x',
      'Keep-Alive': '1',
      'Proxy-Connection': 'x',
    },
  });
  t.equal(reply.status, 418);
  t.equal(reply.body, 'ok');
  t.same(reply.headers['set-cookie'], ['a=1', 'b=2']);
  for (const name of ['x-gone', 'proxy-authenticate']) t.equal(reply.headers[name], undefined, name);
  t.not(reply.headers['keep-alive'], 'timeout=77');
  const raw = JSON.parse(String(reply.headers['x-seen'])) as string[];
  const values = (name: string) => raw.filter((_, index) => index % 2 === 1 && raw[index - 1] === name);
  t.same(values('Accept'), ['a/b', 'c/d']);
  t.same(values('X-Custom'), ['Ä']);
  t.same(values('Te'), ['trailers']);
  t.same(values('Host'), [appHost]);
  for (const name of ['X-Drop', 'Proxy-Authorization', 'Keep-Alive', 'Proxy-Connection']) t.same(values(name), []);
});

t.test('bodies keep their framing with every method', async (t) => {
  const world = await openApp(t);
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const empty = seenBy(await world.ask({ method }));
    t.equal(empty.headers['transfer-encoding'], undefined, `${method} without a body`);
    t.equal(empty.headers['content-length'], ['POST', 'PUT', 'PATCH'].includes(method) ? '0' : undefined, method);
    const whole = seenBy(await world.ask({ method, headers: { 'Content-Length': '5' }, body: 'hello' }));
    t.equal(whole.headers['content-length'], '5');
    t.equal(whole.body, 'hello', method);
    const chunked = seenBy(await world.ask({ method, headers: { 'Transfer-Encoding': 'chunked' }, body: 'hello' }));
    t.equal(chunked.headers['transfer-encoding'], 'chunked');
    t.equal(chunked.body, 'hello', `${method} in chunks`);
  }
  const head = await world.ask({ method: 'HEAD' });
  t.equal(head.status, 200);
  t.equal(head.body, '');
});

t.test('a response is streamed as it arrives, with its trailers', async (t) => {
  const pods: ServerResponse[] = [];
  const requested = Promise.withResolvers<void>();
  const world = await openApp(t, (_, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', Trailer: 'X-Sum' });
    response.flushHeaders();
    pods.push(response);
    requested.resolve();
  });
  const request = begin(world.port);
  request.end();
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  await requested.promise;
  for (const event of ['data: 1\n\n', 'data: 2\n\n']) {
    pods[0]?.write(event);
    t.equal(String((await once(reply, 'data'))[0]), event);
  }
  pods[0]?.addTrailers({ 'X-Sum': '3' });
  pods[0]?.end();
  reply.resume();
  await once(reply, 'end');
  t.equal(reply.trailers['x-sum'], '3');
});

t.test('a large body streams both ways, and both sides wait for the slower one', async (t) => {
  const world = await openApp(t, (request, response) => {
    response.writeHead(200, { 'Content-Type': 'application/octet-stream' });
    request.pipe(response);
  });
  const chunk = Buffer.alloc(256 * 1024, 'x');
  const total = chunk.length * 256;
  let [sent, received] = [0, 0];
  const request = begin(world.port, { method: 'POST' });
  const chunks = function* () {
    for (; sent < total; sent += chunk.length) yield chunk;
  };
  Readable.from(chunks()).pipe(request);
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  // The answer is not read yet, so the sender stops when the system's buffers are full.
  for (let previous = -1; previous !== sent;) {
    previous = sent;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  t.ok(sent < total, `${sent} of ${total} bytes are sent`);
  for await (const part of reply as AsyncIterable<Buffer>) received += part.length;
  t.equal(received, total);
});

t.test('a client that waits for 100 Continue gets it when the pod sends it', async (t) => {
  const world = await openApp(t);
  const request = begin(world.port, { method: 'POST', headers: { Expect: '100-continue', 'Content-Length': '2' } });
  request.flushHeaders();
  await once(request, 'continue');
  request.end('ok');
  const [reply] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(seenBy({ body: await text(reply) }).body, 'ok');

  await t.test('a denied client that waits for 100 Continue never gets it', async (t) => {
    await world.put(...appObjects({ gated: true }));
    await world.serveChecker((_, response) => response.writeHead(401).end('no'));
    const denied = begin(world.port, {
      method: 'POST',
      headers: { Expect: '100-continue', 'Content-Length': '9999999' },
    });
    denied.on('continue', () => t.fail('was asked for its body'));
    denied.flushHeaders();
    const [answer] = (await once(denied, 'response')) as [IncomingMessage];
    t.equal(answer.statusCode, 401);
    denied.destroy();
  });
});

t.test('the pod detects a client that disconnects before the response, during it and during the upload', async (t) => {
  const arrived: PromiseWithResolvers<[IncomingMessage, ServerResponse]>[] = [];
  const next = () => {
    const waiting = Promise.withResolvers<[IncomingMessage, ServerResponse]>();
    arrived.push(waiting);
    return waiting.promise;
  };
  const world = await openApp(t, (request, response) => arrived.shift()?.resolve([request, response]));

  const silent = next();
  const waiting = begin(world.port).on('error', () => undefined);
  waiting.end();
  const [, held] = await silent;
  waiting.destroy();
  await once(held, 'close');

  const streaming = next();
  const reading = begin(world.port).on('error', () => undefined);
  reading.end();
  const [, response] = await streaming;
  response.write('first');
  const [reply] = (await once(reading, 'response')) as [IncomingMessage];
  reply.on('error', () => undefined);
  reading.destroy();
  await once(response, 'close');

  const uploading = next();
  const writing = begin(world.port, { method: 'POST' }).on('error', () => undefined);
  writing.write('part');
  const [upload] = await uploading;
  const cut = once(upload, 'error');
  upload.resume();
  writing.destroy();
  await cut;
  t.equal(upload.complete, false);
});

t.test(
  'a pod that closes the connection before its response causes a 502, and later a truncated response',
  async (t) => {
    const world = await openApp(t, (request, response) => {
      if (request.url === '/before') request.socket.destroy();
      else response.writeHead(200, { 'Content-Length': '10' }).write('half', () => request.socket.destroy());
    });
    t.equal((await world.ask({ path: '/before' })).status, 502);
    t.equal((await world.ask({ path: '/before', method: 'POST', body: 'x' })).status, 502);
    await t.rejects(world.ask({ path: '/during' }), { code: 'ECONNRESET' });
  },
);

t.test('a response before the end of the upload reaches the client, and the pod gets no more of it', async (t) => {
  const ended = Promise.withResolvers<IncomingMessage>();
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    response.end(request.method);
    request.on('error', () => undefined);
    if (request.method === 'POST') request.socket.once('close', () => ended.resolve(request));
  };
  // The time for the rest of the upload does not end.
  const world = await openApp(t, listener, { clock: fakeClock() });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.teardown(() => agent.destroy());
  const send = (method: string) => httpRequest({ port: world.port, agent, method, headers: { host: appHost } });
  const upload = send('POST');
  upload.write('part');
  const [reply] = (await once(upload, 'response')) as [IncomingMessage];
  t.equal(await text(reply), 'POST');
  t.equal((await ended.promise).complete, false);
  upload.end(Buffer.alloc(128 * 1024));
  const second = send('GET');
  second.end();
  const [after] = (await once(second, 'response')) as [IncomingMessage];
  t.equal(await text(after), 'GET', 'a short rest is discarded, and the connection stays usable');
  t.equal(second.socket, upload.socket);
});

t.test(
  'the connection of an upload is closed when its answer is read and much is left, or its end is missing',
  async (t) => {
    const clock = fakeClock();
    const world = await openApp(t, (_, response) => response.writeHead(403).end(), { clock });
    for (const rest of [Buffer.alloc(64 * 1024 * 1024), Buffer.alloc(0)]) {
      const upload = httpRequest({ port: world.port, method: 'POST', headers: { host: appHost } });
      upload.on('error', () => undefined);
      upload.write('part');
      const closed = new Promise((resolve) => upload.once('close', resolve));
      const [reply] = (await once(upload, 'response')) as [IncomingMessage];
      t.equal(reply.statusCode, 403);
      reply.resume();
      upload.write(rest);
      while (clock.sleepers() === 0) await settle();
      await clock.advance(500);
      await closed;
    }
  },
);

t.test('nothing more is read of an answered request that declares much', async (t) => {
  const clock = fakeClock();
  const world = await openApp(t, (_, response) => response.writeHead(403).end(), { clock });
  const connections: Socket[] = [];
  const onConnection = (event: unknown) => {
    const { socket } = event as { socket: Socket };
    if (socket.localPort === world.port) connections.push(socket);
  };
  subscribe('net.server.socket', onConnection);
  t.teardown(() => unsubscribe('net.server.socket', onConnection));
  const length = 1024 * 1024;
  const upload = httpRequest({
    port: world.port,
    method: 'POST',
    headers: { host: appHost, 'content-length': length },
  });
  upload.on('error', () => undefined);
  upload.write('part');
  const closed = new Promise((resolve) => upload.once('close', resolve));
  const [reply] = (await once(upload, 'response')) as [IncomingMessage];
  reply.resume();
  upload.end(Buffer.alloc(length - 4));
  while (clock.sleepers() === 0) await settle();
  await clock.advance(500);
  await closed;
  const bytes = connections.map(({ bytesRead }) => bytesRead);
  t.ok(bytes.length === 1 && bytes.every((read) => read < length / 8), `${bytes.join()} bytes were read`);
});

t.test('uploads that come at once begin one in a turn of the event loop', async (t) => {
  const world = await openApp(t, (_, response) => response.writeHead(403).end());
  const count = 50;
  for (const framing of [`Content-Length: ${2 ** 20}\r\n\r\npart`, 'Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n']) {
    const accepted: unknown[] = [];
    const onAccept = (event: unknown) => void accepted.push(event);
    subscribe('net.server.socket', onAccept);
    const sockets = await Promise.all(
      Array.from({ length: count }, () => world.open(`POST / HTTP/1.1\r\nHost: ${appHost}\r\n`)),
    );
    while (accepted.length < count) await settle();
    unsubscribe('net.server.socket', onAccept);
    // Each upload is one connection of the ingress to the pod, and there are no others.
    const begun = new Map<number, number>();
    let [turn, connected] = [0, 0];
    const nextTurn = () => {
      turn += 1;
      if (connected < count) setImmediate(nextTurn);
    };
    const onConnect = () => {
      connected += 1;
      begun.set(turn, (begun.get(turn) ?? 0) + 1);
    };
    subscribe('net.client.socket', onConnect);
    const answers = sockets.map((socket) => once(socket, 'data'));
    for (const socket of sockets) socket.write(framing);
    nextTurn();
    await Promise.all(answers);
    unsubscribe('net.client.socket', onConnect);
    t.equal(connected, count);
    t.equal(Math.max(...begun.values()), 1);
  }
});

t.test('no repeatable request is lost when the pod has closed a kept-alive connection', async (t) => {
  const used = new WeakSet<object>();
  const world = await openApp(t, ({ socket }, response) => {
    // As if it had been closed while the request was on its way.
    if (used.has(socket)) socket.resetAndDestroy();
    else response.end('ok');
    used.add(socket);
  });
  for (const method of ['GET', 'GET', 'PUT', 'DELETE']) t.equal((await world.ask({ method })).status, 200, method);
  t.equal((await world.ask({ method: 'POST' })).status, 502);
  t.equal((await world.ask()).status, 200);
  t.equal((await world.ask({ method: 'PUT', body: 'x' })).status, 502, 'its body is gone');
});

t.test('an invalid response head is a 502', async (t) => {
  const world = await openApp(t, (request) => {
    request.socket.end(
      `HTTP/1.1 ${request.url === '/status' ? '099 Odd' : '200 OK\r\nA b: c'}\r\nContent-Length: 0\r\n\r\n`,
    );
  });
  t.equal((await world.ask({ path: '/status' })).status, 502);
  t.equal((await world.ask({ path: '/name' })).status, 502);
});

t.test('stop lets requests in progress finish until the deadline, then closes their connections', async (t) => {
  const held: ServerResponse[] = [];
  const both = Promise.withResolvers<void>();
  const clock = fakeClock();
  const world = await createWorld(t, { drainMs: 1500, clock });
  await world.serve('api', namespace, (_, response) => {
    if (held.push(response) === 2) both.resolve();
  });
  await world.put(...appObjects());
  const [first, second] = [world.ask(), world.ask()];
  const idle = await world.open('');
  await both.promise;
  const stopped = world.ingress.stop();
  await once(idle, 'close');
  held[0]?.end('whole');
  await Promise.race([first, second]);
  await clock.advance(1500);
  const ends = await Promise.allSettled([first, second]);
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1);
  await stopped;
  await t.rejects(world.ask(), { code: 'ECONNREFUSED' });
});

t.test('a request that a pod refuses is sent once to another, complete', async (t) => {
  const bodies: string[] = [];
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    bodies.push(body);
    if (body === 'cut') request.socket.destroy();
    else response.end(body);
  };
  const world = await openApp(t, (request, response) => void take(request, response));
  const closedPort = await freePort();
  await world.put(sliceOf('api', namespace, closedPort));
  const sent = Array.from({ length: 6 }, (_, index) => `body ${index}`);
  for (const body of sent) t.match(await world.ask({ method: 'POST', body }), { status: 200, body });
  t.same(bodies, sent);
  t.match(await world.ask({ method: 'POST', body: 'cut' }), { status: 502 });
  t.same(bodies, [...sent, 'cut'], 'a request that a pod has begun to read is not sent again');

  world.pod.closeAllConnections();
  world.pod.close();
  await once(world.pod, 'close');
  t.match(await world.ask({ method: 'POST', body: 'nobody' }), { status: 502 });
});

t.test('a client that ends its side after the request gets the answer, with a head of 40 KiB', async (t) => {
  const arrived = Promise.withResolvers<ServerResponse>();
  // The limit for clients that are gone never ends.
  const world = await openApp(t, (_, response) => arrived.resolve(response), { halfCloseMs: 2 ** 31 - 1 });
  const socket = connect({ host: '127.0.0.1', port: world.port, allowHalfOpen: true });
  socket.end(`GET / HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`);
  const reading = text(socket);
  const response = await arrived.promise;
  response.setHeader('X-Large', 'x'.repeat(40 * 1024));
  response.end('late answer');
  t.match(await reading, /200 OK[^]*late answer/);
});
