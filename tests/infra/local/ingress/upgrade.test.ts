import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { appHost, appObjects, createWorld, namespace, seenBy, type Test } from './world.ts';

const upgradeHeaders = {
  host: appHost,
  Connection: 'keep-alive, Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Key': 'a',
};

/** An app that switches to a protocol in which it echoes everything in upper case. */
async function tunnelApp(test: Test) {
  const world = await createWorld(test);
  const { server } = await world.serveEcho();
  const upgrades: IncomingMessage[] = [];
  const sockets: Socket[] = [];
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    upgrades.push(request);
    sockets.push(socket);
    socket.on('error', () => undefined);
    if (request.url === '/refuse') {
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno');
      return;
    }
    const protocol = request.url === '/other' ? 'other' : request.headers.upgrade;
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nX-A: b\r\n\r\nhello`,
    );
    const shout = (chunk: Buffer) => socket.write(chunk.toString().toUpperCase());
    if (head.length > 0) shout(head);
    socket.on('data', shout).on('end', () => request.url !== '/half' && socket.end());
  });
  await world.put(...appObjects());
  const upgrade = async (path = '/') => {
    const request = httpRequest({ port: world.port, path, headers: upgradeHeaders, agent: false });
    request.end();
    const [answer, socket, head] = (await Promise.race([once(request, 'upgrade'), once(request, 'response')])) as [
      IncomingMessage,
      Socket | undefined,
      Buffer | undefined,
    ];
    return { answer, socket, head };
  };
  return { ...world, upgrade, upgrades, sockets, pod: server };
}

/** Reads until `length` bytes have arrived. */
async function read(socket: Socket, bytes: number, from = ''): Promise<string> {
  let got = from;
  while (got.length < bytes) got += String((await once(socket, 'data'))[0]);
  return got;
}

t.test('an upgraded connection passes bytes both ways, until either side ends it', async (t) => {
  const world = await tunnelApp(t);
  const { answer, socket, head } = await world.upgrade();
  if (!socket) throw new Error('not upgraded');
  t.equal(answer.statusCode, 101);
  t.match(answer.headers, { upgrade: 'websocket', connection: 'Upgrade', 'x-a': 'b' });
  const [seen] = world.upgrades;
  t.match(seen?.headers, { connection: 'Upgrade', upgrade: 'websocket', 'x-forwarded-proto': 'ws' });
  t.ok(seen?.rawHeaders.includes('Sec-WebSocket-Key'), 'as RFC 6455 spells it');
  t.equal(await read(socket, 5, String(head)), 'hello');
  socket.write('abc');
  t.equal(await read(socket, 3), 'ABC');
  socket.end();
  await once(socket, 'close');

  const half = await world.upgrade('/half');
  half.socket?.resume().end();
  if (half.socket) await once(half.socket, 'close');

  const second = await world.upgrade();
  second.socket?.resume();
  world.sockets[2]?.destroy();
  if (second.socket) await once(second.socket, 'close');
});

t.test('data that a client sends immediately after its request arrives', async (t) => {
  const world = await tunnelApp(t);
  const fields = Object.entries(upgradeHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = await world.open(`GET / HTTP/1.1\r\n${fields.join('')}\r\nearly`);
  const reply = await read(socket, 1);
  t.match(`${reply}${reply.endsWith('EARLY') ? '' : await read(socket, 5)}`, /^HTTP\/1\.1 101 [^]*helloEARLY$/);
});

t.test('a refused or denied upgrade gets an ordinary response', async (t) => {
  const world = await tunnelApp(t);
  const refused = await world.upgrade('/refuse');
  t.equal(refused.answer.statusCode, 403);
  t.equal(await text(refused.answer), 'no');
  t.equal(
    (await world.upgrade('/other')).answer.statusCode,
    502,
    'the pod switches to another protocol than the requested one',
  );
  await world.put(...appObjects({ gated: true }));
  t.equal((await world.upgrade()).answer.statusCode, 500, 'without a checker');
  await world.serveChecker((request, response) => response.writeHead(request.url === '/x' ? 200 : 401).end('denied'));
  const denied = await world.upgrade();
  t.equal(denied.answer.statusCode, 401);
  t.equal(await text(denied.answer), 'denied');
  t.equal(world.upgrades.length, 2);
});

t.test('a slow client gets all that a pod sends, and slows the pod down', async (t) => {
  const world = await tunnelApp(t);
  const { socket, head } = await world.upgrade();
  const [pod] = world.sockets;
  if (!socket || !head || !pod) throw new Error('not upgraded');
  const content = randomBytes(64 * 1024 * 1024);
  const chunkBytes = 64 * 1024;
  const parts = [head];
  socket.pause();
  const sent = { bytes: 0 };
  for (let from = 0; from < content.length; from += chunkBytes) {
    pod.write(content.subarray(from, from + chunkBytes), () => (sent.bytes += chunkBytes));
  }
  // Until the buffers of the kernel and of the ingress are full.
  for (let before = -1; sent.bytes === 0 || sent.bytes !== before;) {
    before = sent.bytes;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  t.ok(sent.bytes < content.length / 2, `${sent.bytes} bytes are in buffers`);
  socket.on('data', (data: Buffer) => {
    parts.push(data);
    if (parts.length % 50 !== 0) return;
    socket.pause();
    setImmediate(() => socket.resume());
  });
  socket.resume();
  pod.end();
  await once(socket, 'close');
  const received = Buffer.concat(parts);
  t.equal(received.subarray(0, 5).toString(), 'hello');
  t.ok(received.subarray(5).equals(content));
});

t.test('a pod that does not accept an upgrade’s connection gets an answer of the ingress', async (t) => {
  const world = await tunnelApp(t);
  world.pod.close();
  world.pod.closeAllConnections();
  t.equal((await world.upgrade()).answer.statusCode, 502);
});

t.test('stop ends upgraded connections', async (t) => {
  const world = await tunnelApp(t);
  const { socket } = await world.upgrade();
  socket?.on('error', () => undefined).resume();
  await world.ingress.stop();
  if (socket && !socket.closed) await once(socket, 'close');
  t.ok(socket?.closed);
});

t.test('requests that cannot be upgraded safely are forwarded without the upgrade', async (t) => {
  const world = await tunnelApp(t);
  for (const [method, upgrade] of [
    ['GET', 'h2c'],
    ['POST', 'websocket'],
  ] as const) {
    const reply = await world.ask({ method, headers: { Connection: 'Upgrade, HTTP2-Settings', Upgrade: upgrade } });
    t.equal(reply.status, 200);
    t.equal(seenBy(reply).headers['upgrade'], undefined);
    t.equal(seenBy(reply).headers['connection'], 'keep-alive');
  }
  t.same(world.upgrades, []);
  t.match(await world.exchange(`CONNECT ${appHost}:80 HTTP/1.1\r\nHost: ${appHost}\r\n\r\n`), /^HTTP\/1\.1 405 /);
});

t.test('an upgrade behind an unanswered request ends the connection, and the ingress keeps working', async (t) => {
  const world = await tunnelApp(t);
  await world.serve('slow', namespace, () => undefined);
  const [route] = appObjects({ name: 'slow', hosts: ['slow.localhost'] });
  if (route) await world.put(route);
  const fields = Object.entries(upgradeHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  const first = 'GET / HTTP/1.1\r\nHost: slow.localhost\r\n\r\n';
  t.equal(await world.exchange(`${first}GET / HTTP/1.1\r\n${fields.join('')}\r\n`), '');
  t.equal((await world.ask()).status, 200);
});
