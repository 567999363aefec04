import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { Id } from '../../../../runtime/domain/ids.ts';
import { fakeClock, settle } from '../../../support/clock.ts';
import { appHost, appObjects, createWorld, namespace } from './world.ts';

t.test(
  'among many uploads, the pod gets the head of a further one first, and can refuse it without its body',
  async (t) => {
    const clock = fakeClock();
    const size = 256 * 1024;
    const bodies = new Map<string, number>();
    const held: unknown[] = [];
    const world = await createWorld(t, { clock });
    await world.serve('api', namespace, (request, response) => {
      const { url = '' } = request;
      request.on('error', () => undefined);
      if (url === '/hold') held.push(request);
      else if (url === '/refuse') request.socket.once('close', () => bodies.set(url, request.socket.bytesRead));
      if (url === '/refuse') response.writeHead(413).end('too large');
      if (url === '/stream') response.writeHead(200).flushHeaders();
      if (url !== '/stream' && url !== '/take') return;
      const read = async () => {
        let bytes = 0;
        for await (const chunk of request as AsyncIterable<Buffer>) bytes += chunk.length;
        response.end(String(bytes));
      };
      read().catch(() => undefined);
    });
    await world.put(...appObjects());
    const upload = (path: string, host = appHost) => {
      const request = httpRequest({
        port: world.port,
        host: '127.0.0.1',
        agent: false,
        method: 'POST',
        path,
        headers: { host, 'content-length': size },
      });
      request.on('error', () => undefined);
      request.write(Buffer.alloc(size - 1));
      t.teardown(() => request.destroy());
      return request;
    };
    const answerOf = async (request: ReturnType<typeof upload>) => {
      const [reply] = (await once(request, 'response')) as [IncomingMessage];
      return { status: reply.statusCode, body: await text(reply) };
    };
    for (let index = 0; index < 32; index++) upload('/hold');
    while (held.length < 32) await settle();

    await world.serve('other', namespace, (request, response) => {
      request.once('end', () => response.end('all')).resume();
    });
    const otherHost = 'other--shop-prod.apps.localhost';
    const id = '0190a0a0-0000-7000-8000-000000000002' as Id;
    await world.put(...appObjects({ id, name: 'other', hosts: [otherHost] }));
    const ofOther = upload('/', otherHost);
    ofOther.end(Buffer.alloc(1));
    t.same(await answerOf(ofOther), { status: 200, body: 'all' }, 'an upload to another Service does not wait');

    t.same(await answerOf(upload('/refuse')), { status: 413, body: 'too large' });
    while (!bodies.has('/refuse')) await settle();
    const bytes = bodies.get('/refuse') ?? size;
    t.ok(bytes < 2_048, `the pod got ${bytes} bytes`);

    const streamed = upload('/stream');
    streamed.end(Buffer.alloc(1));
    t.same(await answerOf(streamed), { status: 200, body: String(size) }, 'a pod that answers while it reads');

    const taken = upload('/take');
    taken.end(Buffer.alloc(1));
    const answer = answerOf(taken);
    const tick = () => clock.advance(1_000).then(() => undefined);
    while ((await Promise.race([answer, tick()])) === undefined);
    t.same(await answer, { status: 200, body: String(size) }, 'a pod that needs the body first');
  },
);

/** The sockets of the ingress, by the path of their latest request. */
function ingressSockets(t: { teardown(end: () => unknown): void }, port: number): Map<string, Socket> {
  const sockets = new Map<string, Socket>();
  const onRequest = (message: unknown) => {
    const { request, socket } = message as { request: IncomingMessage; socket: Socket };
    if (socket.localPort === port) sockets.set(request.url ?? '', socket);
  };
  subscribe('http.server.request.start', onRequest);
  t.teardown(() => unsubscribe('http.server.request.start', onRequest));
  return sockets;
}

t.test('uploads that were refused count for two seconds, and nothing of a refused body is read', async (t) => {
  const clock = fakeClock();
  const size = 1024 * 1024;
  const world = await createWorld(t, { clock });
  const sockets = ingressSockets(t, world.port);
  const received = new Map<string, number>();
  let refuse = () => {};
  await world.serve('api', namespace, (request, response) => {
    const { url = '' } = request;
    request.on('error', () => undefined);
    request.socket.once('close', () => received.set(url, request.socket.bytesRead));
    if (url === '/take') request.once('end', () => response.end('taken')).resume();
    else if (url === '/last') refuse = () => response.writeHead(413).end('too large');
    else response.writeHead(413).end('too large');
  });
  await world.put(...appObjects());
  const begin = async (path: string, length = size) => {
    const head = `POST ${path} HTTP/1.1\r\nHost: ${appHost}\r\nContent-Length: ${length}\r\n\r\n`;
    const client = await world.open(head);
    // The ingress resets the connections of refused uploads.
    return client.on('error', () => undefined);
  };
  const statusOf = async (client: Socket) => String((await once(client, 'data'))[0]).slice(9, 12);

  for (let index = 0; index < 32; index++) {
    const client = await begin(`/${index}`);
    client.write('x');
    t.equal(await statusOf(client), '413');
    while (!received.has(`/${index}`)) await settle();
  }
  const last = await begin('/last');
  while (!sockets.has('/last')) await settle();
  const socket = sockets.get('/last');
  const { bytesRead: head = 0 } = socket ?? {};
  last.write(Buffer.alloc(size / 2));
  for (let index = 0; index < 20; index++) await settle();
  refuse();
  t.equal(await statusOf(last), '413');
  last.write(Buffer.alloc(size / 4));
  while (!received.has('/last')) await settle();
  t.ok((received.get('/last') ?? size) < 2_048, 'the pod got the head alone');
  const closed = new Promise((resolve) => last.once('close', resolve));
  await settle();
  await clock.advance(500);
  await closed;
  t.equal(socket?.bytesRead, head, 'the ingress read nothing of the body');

  await clock.advance(2_000);
  const taken = await begin('/take', 100_000);
  taken.write(Buffer.alloc(100_000));
  t.equal(await statusOf(taken), '200', 'later, a body does not wait');
});

t.test('a connection is usable after an upload that arrived with its head', async (t) => {
  const world = await createWorld(t);
  await world.serve('api', namespace, (request, response) => {
    request.once('end', () => response.writeHead(404).end()).resume();
  });
  await world.put(...appObjects());
  const client = await world.open('');
  for (const host of [appHost, 'unknown.test', appHost]) {
    client.write(`POST / HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`);
    t.match(String((await once(client, 'data'))[0]), /^HTTP\/1\.1 404/);
  }
});
