import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import t, { type Test } from 'tap';
import type { Authorize } from '../../../gate/authz/handler.ts';
import { createAuthzServer } from '../../../gate/authz/server.ts';
import { fakeClock } from '../../support/clock.ts';

/**
 * The server with a given handler, and a function that sends it bytes and returns all answers until the connection
 * ends.
 */
async function rig(t: Test, authorize: Authorize) {
  const clock = fakeClock();
  const server = createAuthzServer({
    port: 0,
    host: '127.0.0.1',
    registry: new Registry(),
    ready: () => true,
    clock,
    drainMs: 0,
    authorize,
  });
  const port = await server.start();
  t.teardown(() => Promise.all([server.stop(), clock.advance(0)]));
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    t.teardown(() => socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  return {
    clock,
    server,
    open,
    exchange: async (requests: string[]): Promise<string> => {
      const socket = await open();
      for (const request of requests) socket.write(request);
      socket.end();
      let answers = '';
      for await (const chunk of socket) answers += String(chunk);
      return answers;
    },
  };
}

const allow = { status: 200, headers: ['Content-Length', '0'], body: '' };

const head = (method: string, app: number, more = '') =>
  `${method} /authorize?app=${app} HTTP/1.1\r\nHost: x\r\n${more}\r\n`;

t.test('one connection serves several requests with any bodies', async (t) => {
  const requests: string[] = [];
  const { exchange } = await rig(t, ({ url = '' }, send) => {
    requests.push(url);
    send(allow);
  });
  // All at once, so that no part of one request can be mistaken for the next.
  const answers = await exchange([
    [
      head('GET', 1),
      `${head('POST', 2, 'Content-Length: 5\r\n')}GET /`,
      `${head('POST', 3, 'Transfer-Encoding: chunked\r\n')}3\r\nabc\r\n0\r\n\r\n`,
      head('GET', 4),
    ].join(''),
    head('HEAD', 5),
  ]);
  t.same(
    requests,
    [1, 2, 3, 4, 5].map((app) => `/authorize?app=${app}`),
  );
  t.equal(answers.split('HTTP/1.1 200 OK').length, 6);
  t.notMatch(answers, /^HTTP\/1.1 [^2]/m);
});

t.test('the handler gets the headers that it uses, with the values that node:http would give', async (t) => {
  const seen: Record<string, unknown>[] = [];
  const { exchange } = await rig(t, ({ headers }, send) => {
    seen.push({ ...headers });
    send(allow);
  });
  const lines = [
    'x-api-key: one',
    'X-API-KEY: two',
    'X_Api_Key: three',
    'X-Api-Keys: four',
    'X-Forwarded-For: 10.0.0.1',
    'X-Forwarded-for: 10.0.0.2, 10.0.0.3',
    'x-forwarded-method: GET',
    'X-Forwarded-Method: OPTIONS',
    'Access-Control-Request-Method: PUT',
    'Accept-Charset: x',
    'X-Forwarded-Uri: /?x-api-key=five',
    '',
  ];
  await exchange([head('GET', 1, lines.join('\r\n')), head('GET', 2)]);
  t.match(seen[0], {
    'x-api-key': 'one, two',
    'x-forwarded-for': '10.0.0.1, 10.0.0.2, 10.0.0.3',
    'x-forwarded-method': 'GET, OPTIONS',
    'access-control-request-method': 'PUT',
  });
  t.same(
    Object.entries(seen[1] ?? {}).filter(([, value]) => value !== undefined),
    [],
    'no header of one request appears in the next',
  );
});

t.test('the server follows the rules of HTTP/1.1', async (t) => {
  const { exchange } = await rig(t, (_, send) => send(allow));
  t.match(await exchange(['GET /authorize?app=1 HTTP/1.1\r\n\r\n']), /^HTTP\/1.1 400 /, 'no Host');
  t.match(
    await exchange([head('POST', 1, 'Expect: 100-continue\r\nContent-Length: 1\r\n'), 'x']),
    /^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/,
  );
  t.match(await exchange([head('POST', 1, 'Content-Length: 1\r\nTransfer-Encoding: chunked\r\n')]), /^HTTP\/1.1 400 /);
});

/** Collects what a connection receives. */
function reading(socket: Socket) {
  let text = '';
  socket.setEncoding('latin1').on('data', (part: string) => (text += part));
  const answers = () => text.split('HTTP/1.1 ').slice(1);
  return {
    answers,
    /** Resolves once this number of answers has arrived. */
    until: async (count: number): Promise<string[]> => {
      while (answers().length < count || !text.endsWith('\r\n\r\n')) await once(socket, 'data');
      return answers();
    },
  };
}

t.test('a head that arrives in any two parts is one request, and so is what follows it', async (t) => {
  const urls: string[] = [];
  const { open } = await rig(t, ({ url = '' }, send) => {
    urls.push(url);
    send(allow);
  });
  const text = head('GET', 1, 'X-Api-Key: one\r\n') + head('GET', 2);
  const socket = await open();
  socket.setNoDelay();
  const { until, answers } = reading(socket);
  for (let cut = 1; cut < text.length; cut++) {
    socket.write(text.slice(0, cut));
    // So that the parts arrive one by one.
    await new Promise((resolve) => setImmediate(resolve));
    socket.write(text.slice(cut));
    await until(cut * 2);
  }
  t.same(
    urls,
    Array.from({ length: (text.length - 1) * 2 }, (_, index) => `/authorize?app=${(index % 2) + 1}`),
  );
  t.same(
    answers().filter((answer) => !answer.startsWith('200 OK')),
    [],
  );
});

t.test('a head that never ends is refused by node:http', async (t) => {
  const { open, exchange } = await rig(t, (_, send) => send(allow));
  const socket = await open();
  const { until, answers } = reading(socket);
  socket.write(head('GET', 1));
  await until(1);
  const closed = new Promise((resolve) => socket.on('close', resolve));
  // What was sent in vain resets the connection, perhaps before the answer was read.
  socket.on('error', () => undefined);
  // Too long for a usual request; node:http takes up to a megabyte.
  socket.write(`${head('GET', 2).slice(0, -2)}X-Long: ${'x'.repeat(1_200_000)}`);
  await closed;
  t.match(answers()[1] ?? '431 ', /^431 /);
  t.match(await exchange([head('GET', 1), 'GET /authorize?app=1 HTT']), /200 OK[^]*HTTP\/1.1 400 /, 'cut off');
});

t.test('a slow head is handed over and still answered', async (t) => {
  const { open } = await rig(t, (_, send) => send(allow));
  const socket = await open();
  const { until } = reading(socket);
  const text = head('GET', 1);
  socket.write(text.slice(0, 10));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  socket.write(text.slice(10) + head('GET', 2));
  for (const answer of await until(2)) t.match(answer, /^200 OK/);
});

t.test('a client that reads no answers gets no more of them', async (t) => {
  let count = 0;
  const body = 'x'.repeat(10_000);
  const { open } = await rig(t, (_, send) => {
    count++;
    send({ status: 200, headers: ['Content-Length', String(body.length)], body });
  });
  const socket = await open();
  socket.pause();
  const requests = head('GET', 1).repeat(1_000);
  let [answered, written] = [-1, 0];
  for (let round = 0; round < 20 && answered !== count; round++) {
    answered = count;
    socket.write(requests);
    written += 1_000;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  t.equal(count, answered, 'what it wrote waits to be read');
  const all = () => count === written;
  socket.resume();
  while (!all()) await once(socket, 'data');
});

t.test('when the server stops, its answers say that the connection ends', async (t) => {
  const { open, server, clock } = await rig(t, (_, send) => send(allow));
  const [used, unused, begun] = [await open(), await open(), await open()];
  const [first, last] = [reading(used), reading(begun)];
  used.write(head('GET', 1));
  begun.write(head('GET', 1) + head('GET', 2).slice(0, -1));
  t.match(await first.until(1), [/\r\nConnection: keep-alive\r\n/]);
  await last.until(1);
  const stopped = server.stop();
  used.write(head('GET', 2));
  t.match(await first.until(2), [/^200 OK/, /^200 OK[^]*\r\nConnection: close\r\n/]);
  const closed = once(unused, 'close');
  unused.resume();
  await clock.advance(0);
  await closed;
  begun.write('\n');
  t.match(await last.until(2), [/^200 OK/, /^200 OK[^]*\r\nConnection: close\r\n/]);
  await stopped;
});
