import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { podSessions } from '../../support/pod-sessions.ts';

/** A server in the place of a pod. */
async function serve(t: Test, onConnection: (socket: Socket) => void): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
    onConnection(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return (server.address() as AddressInfo).port;
}

/** `svc port-forward` to a service whose pod listens on `port`; Ctrl-C at the end of the test. */
async function withForward(t: Test, port: number, options?: Parameters<typeof podSessions>[1]) {
  const world = await podSessions(t, options);
  const id = await world.workload('Service', 'orders');
  await world.pod({ kind: 'Service', name: 'orders', id }, { name: 'orders-0', container: 'postgres', port });
  const interrupt = Promise.withResolvers<void>();
  t.teardown(() => interrupt.resolve());
  const listening = Promise.withResolvers<number>();
  const messages: string[] = [];
  const running = world.svc(['port-forward', 'service/orders', '0:5432', '--environment', 'prod'], {
    interrupt: interrupt.promise,
    onError(text) {
      messages.push(text);
      const [, local] = /^127\.0\.0\.1:(\d+) leads to port 5432 of service\/orders/.exec(text) ?? [];
      if (local !== undefined) listening.resolve(Number(local));
    },
  });
  const local = await Promise.race([
    listening.promise,
    running.then(({ stderr }) => Promise.reject(new Error(stderr))),
  ]);
  return {
    ...world,
    messages,
    open: () => connect({ port: local, host: '127.0.0.1', allowHalfOpen: true }),
    stop: () => {
      interrupt.resolve();
      return running;
    },
  };
}

const sha = (content: Buffer) => createHash('sha256').update(content).digest('hex');

t.test('connections carry bytes both ways, and each direction ends by itself', async (t) => {
  // Answers once the client has ended its direction.
  const port = await serve(t, (socket) => void buffer(socket).then((content) => socket.end(content)));
  const { open, stop, entries } = await withForward(t, port);
  const contents = [randomBytes(5 * 1024 * 1024 + 1), randomBytes(1024 * 1024), Buffer.alloc(0)];
  const answers = await Promise.all(
    contents.map((content) => {
      const socket = open();
      socket.end(content);
      return buffer(socket);
    }),
  );
  t.same(answers.map(sha), contents.map(sha));
  t.match(
    entries().find(({ msg }) => msg === 'audit'),
    { action: 'service.port-forward', service: 'orders', pod: 'orders-0', port: 5432, actor: 'admin@svc.local' },
  );
  const ended = () => entries().filter(({ msg }) => msg === 'session ended');
  while (ended().length < 4) await new Promise((resolve) => setTimeout(resolve, 10));
  t.match(
    ended().find(({ sentBytes }) => sentBytes === contents[0]?.length),
    { receivedBytes: contents[0]?.length },
  );
  t.equal((await stop()).code, 130);
});

t.test('a client that leaves closes the connection to the pod', async (t) => {
  const pods: Socket[] = [];
  const port = await serve(t, (socket) => void pods.push(socket));
  const { open, stop } = await withForward(t, port);
  const leaving = open();
  leaving.write('x');
  while (!pods.some(({ bytesRead }) => bytesRead > 0)) await new Promise((resolve) => setTimeout(resolve, 10));
  const pod = pods.find(({ bytesRead }) => bytesRead > 0);
  leaving.destroy();
  if (pod && !pod.readableEnded) await once(pod.resume(), 'end');
  t.pass('the pod’s connection is closed');
  await stop();
});

t.test('a slow reader slows the sender down', async (t) => {
  const sent = { bytes: 0 };
  const port = await serve(t, (socket) => {
    const chunk = Buffer.alloc(64 * 1024);
    const send = () => {
      while (socket.writable && socket.write(chunk)) sent.bytes += chunk.length;
    };
    socket.on('drain', send).once('data', send);
  });
  const { open, stop } = await withForward(t, port);
  const socket = open().pause();
  socket.write('start');
  let last = -1;
  while (sent.bytes === 0 || sent.bytes !== last) {
    last = sent.bytes;
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
  t.ok(sent.bytes < 64 * 1024 * 1024, `${sent.bytes} bytes are in buffers`);
  socket.destroy();
  await stop();
});

t.test('a slow reader gets what was sent, although buffers are used again', async (t) => {
  const content = randomBytes(16 * 1024 * 1024);
  const port = await serve(t, (socket) => socket.end(content));
  const { open, stop } = await withForward(t, port);
  const socket = open();
  const parts: Buffer[] = [];
  let read = 0;
  socket.on('data', (data: Buffer) => {
    parts.push(data);
    read += data.length;
    if (read < 1024 * 1024) return;
    read = 0;
    socket.pause();
    setTimeout(() => socket.resume(), 20);
  });
  await once(socket, 'end');
  t.equal(sha(Buffer.concat(parts)), sha(content));
  socket.destroy();
  await stop();
});

t.test('what cannot be reached is refused with a reason', async (t) => {
  const port = await serve(t, () => undefined);
  const world = await podSessions(t);
  const { svc, workload, kube } = world;
  const id = await workload('App', 'api');
  await workload('Service', 'empty');
  const spec = { type: 'postgres', external: { host: 'db.example.com', port: 5432, tls: true } };
  const metadata = { name: 'legacy', namespace: 'shop-prod', labels: { 'platform.svc/id': 'x' } };
  await kube.create({ apiVersion: 'platform.svc/v1', kind: 'Service', metadata, spec });
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app', port: 1 });
  for (const [args, message] of [
    [
      ['app/api', '0:9229'],
      /"api" listens on port 8080. No other port can be reached. \(invalid_value\)\nhint: .*: svc port-forward app\/api 0:<its port>/,
    ],
    [['app/api', `0:${port}`], /invalid_value/],
    [['app/api', '0:8080'], /The pod "api-1" does not accept connections now.*\(not_ready\)/],
    [['service/empty', '0:5432'], /No pod of the service "empty" runs now/],
    [['service/legacy', '0:5432'], /is external. Connect to db.example.com directly/],
    [['service/none', '0:5432'], /\(not_found\)/],
    [['orders'], /"orders" is not a target/],
    [['job/x'], /"job\/x" is not a target/],
    [['app/api', '70000'], /"70000" is not a valid port/],
  ] as const) {
    const ran = await svc(['port-forward', ...args]);
    t.not(ran.code, 0, args.join(' '));
    t.match(ran.stderr, message);
  }
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-2', container: 'app', port });
  // The newest pod comes first.
  await kube.delete(
    { apiVersion: 'v1', kind: 'Pod', namespace: 'shop-prod', name: 'api-1' },
    { gracePeriodSeconds: 0 },
  );
  const taken = await svc(['port-forward', 'app/api', `${port}:8080`]);
  t.match(taken.stderr, /Port \d+ of this machine is in use. \(port_in_use\)/);
});

t.test('a message that is no data closes the connection', async (t) => {
  const port = await serve(t, () => undefined);
  const world = await podSessions(t);
  const id = await world.workload('App', 'api');
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app', port });
  const url = `${world.api.url.replace('http', 'ws')}/api/v1/projects/shop/apps/api/port-forward`;
  const socket = new WebSocket(url, ['tcp.platform.svc'], { headers: { authorization: 'Bearer good' } });
  await once(socket, 'open');
  socket.send('text');
  const [code] = (await once(socket, 'close')) as [number];
  t.equal(code, 1008);
});

t.test('any client of WebSockets gets the content in messages of at most 128 KiB', async (t) => {
  const content = randomBytes(1024 * 1024 + 1);
  const port = await serve(t, (socket) => socket.end(content));
  const world = await podSessions(t);
  const id = await world.workload('App', 'api');
  await world.pod({ kind: 'App', name: 'api', id }, { name: 'api-1', container: 'app', port });
  const url = `${world.api.url.replace('http', 'ws')}/api/v1/projects/shop/apps/api/port-forward`;
  const socket = new WebSocket(url, ['tcp.platform.svc'], { headers: { authorization: 'Bearer good' } });
  const messages: Buffer[] = [];
  socket.on('message', (data: Buffer, isBinary) => {
    if (isBinary) messages.push(data);
    else socket.send('end');
  });
  const [code] = (await once(socket, 'close')) as [number];
  t.equal(code, 1000);
  t.ok(Math.max(...messages.map(({ length }) => length)) <= 128 * 1024);
  t.equal(sha(Buffer.concat(messages)), sha(content));
});
