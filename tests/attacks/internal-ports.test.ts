import { once } from 'node:events';
import { createServer } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createEventDelivery, type EventDeliveryDependencies } from '../../functions/event-delivery/handler.ts';
import { checkerHost, gateProbePath } from '../../runtime/contracts/gate-denials.ts';
import { createBodyMemory } from '../../runtime/http/body-memory.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { sourceWorld } from '../functions/sources/source-world.ts';
import { createWorld, host } from '../gate/interceptor/world.ts';
import { startServer, startStore } from '../runtime/logs/rig.ts';
import { startApi } from '../support/local-api.ts';
import { silentLog } from '../support/log.ts';
import { flood, huge } from '../support/raw-body.ts';

/*
 * Ports that only processes of the platform or pods connect to, which on the embedded cluster every program of the machine
 * reaches: nobody makes them read a body without an end.
 */
const portOf = (url: string) => Number(new URL(url).port);

/** Sends a request whose body does not end. @returns its answer */
async function send(t: Test, port: number, method: string, path: string, host?: string): Promise<string> {
  const request = flood(port, path, { method, size: huge, ...(host !== undefined && { host }) });
  const [answer] = (await request.answered) as [Buffer];
  await request.closed;
  t.notOk(request.isTaken(), `${method} ${path}`);
  return answer.toString();
}

t.test('the port for pods reads no body that it has no use for', async (t) => {
  const { sourceUrl } = await sourceWorld(t);
  const url = sourceUrl('00000000-0000-0000-0000-000000000000');
  const dependencies = { log: silentLog, bodies: createBodyMemory() } as unknown as EventDeliveryDependencies;
  const deliver = createEventDelivery(dependencies);
  const server = createServer((request, response) => void deliver(request, response)).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answers = await Promise.all([
    send(t, portOf(url), 'GET', new URL(url).pathname),
    send(t, portOf(url), 'POST', new URL(url).pathname),
    send(t, port, 'POST', '/exchange'),
    send(t, port, 'GET', '/exchange'),
    send(t, port, 'POST', '/other'),
  ]);
  t.same(
    answers.map((answer) => answer.slice('HTTP/1.1 '.length, 12)),
    ['401', '405', '401', '405', '404'],
  );
});

t.test('the log store reads no body without its token, and none of a reading', async (t) => {
  const { url } = await startServer(t, await startStore(t));
  const answers = await Promise.all([
    send(t, portOf(url), 'POST', '/append'),
    send(t, portOf(url), 'GET', '/read'),
    send(t, portOf(url), 'GET', '/status'),
    send(t, portOf(url), 'PUT', '/anything'),
  ]);
  t.same(
    answers.map((answer) => answer.slice('HTTP/1.1 '.length, 12)),
    ['401', '401', '401', '404'],
  );
});

t.test('the admin port of a process reads no body', async (t) => {
  const admin = createAdminServer({ port: 0, host: '127.0.0.1', registry: new Registry(), ready: () => true });
  const port = await admin.start();
  t.teardown(() => admin.stop());
  for (const [method, path] of [
    ['GET', '/health'],
    ['GET', '/metrics'],
    ['POST', '/health'],
  ] as const) {
    const request = flood(port, path, { method, size: huge });
    await request.closed;
    t.notOk(request.isTaken(), `${method} ${path}`);
  }
});

t.test('the interceptor reads no body of a request that it refuses, and none that a pod does not take', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const early = Promise.withResolvers<Socket>();
  await world.startPod((request, response) => {
    request.pause();
    // Answers before the body has arrived.
    if (request.url === '/early') response.writeHead(403).end('early', () => early.resolve(request.socket));
    // Closes the connection without an answer, in the midst of the body.
    else request.resume().once('data', () => request.socket.destroy());
  });
  const { port } = await world.startInterceptor();
  const answers = await Promise.all([
    send(t, port, 'POST', '/', 'stranger.test'),
    send(t, port, 'POST', gateProbePath, host),
    send(t, port, 'POST', '/verdict', checkerHost),
    send(t, port, 'PUT', '/breaks', host),
  ]);
  t.same(
    answers.map((answer) => answer.slice('HTTP/1.1 '.length, 12)),
    ['404', '404', '503', '502'],
  );
  const refused = flood(port, '/early', { size: huge, host });
  const [answer] = (await refused.answered) as [Buffer];
  t.match(answer.toString(), /^HTTP\/1\.1 403 /);
  (await early.promise).destroy();
  await refused.closed;
  t.notOk(refused.isTaken(), 'a body whose pod has answered and gone');
});

t.test('the embedded API server reads no body that it has no use for', async (t) => {
  const { server, adminToken } = await startApi(t);
  const answerOf = (method: string, path: string, token?: string) =>
    new Promise<{ status: number | undefined; isTaken: boolean }>((resolve) => {
      let isTaken = false;
      let status: number | undefined;
      const headers = { 'content-length': huge, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const call = secureRequest(`${server.url}${path}`, { method, headers, rejectUnauthorized: false, agent: false });
      call.once('response', (response) => {
        status = response.statusCode;
        response.resume();
      });
      call.on('error', () => undefined);
      call.once('close', () => resolve({ status, isTaken }));
      call.once('finish', () => (isTaken = true));
      call.end(Buffer.alloc(huge));
    });
  const namespaces = '/api/v1/namespaces';
  t.same(
    await Promise.all([
      answerOf('GET', '/readyz'),
      answerOf('POST', namespaces),
      answerOf('GET', namespaces, adminToken),
      answerOf('POST', '/apis/none/v1/things', adminToken),
      answerOf('POST', namespaces, adminToken),
    ]),
    [200, 401, 200, 404, 413].map((status) => ({ status, isTaken: false })),
  );
});
