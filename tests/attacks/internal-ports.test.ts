import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import { createEventDelivery, type EventDeliveryDependencies } from '../../functions/event-delivery/handler.ts';
import { createBodyMemory } from '../../runtime/http/body-memory.ts';
import { createAdminServer } from '../../runtime/process/admin-server.ts';
import { sourceWorld } from '../functions/sources/source-world.ts';
import { startServer, startStore } from '../runtime/logs/rig.ts';
import { silentLog } from '../support/log.ts';
import { flood, huge } from '../support/raw-body.ts';

/*
 * Ports that only processes of the platform or pods connect to, which on the embedded cluster every program of the machine
 * reaches: nobody makes them read a body without an end.
 */
const portOf = (url: string) => Number(new URL(url).port);

/** Sends a request whose body does not end. @returns its answer */
async function send(t: Test, port: number, method: string, path: string): Promise<string> {
  const request = flood(port, path, { method, size: huge });
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
