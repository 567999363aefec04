import { once } from 'node:events';
import type { Socket } from 'node:net';
import t from 'tap';
import { answerMaxBytes, functionInvocation } from '../../runtime/contracts/api/invocations.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { testSession } from '../support/api.ts';
import { fakeClock } from '../support/clock.ts';
import { forgeries, separators } from '../support/header-spellings.ts';
import { answering, invocations, sending } from '../functions/invocations/rig.ts';

/*
 * `POST …/invoke` lets a deployer send a request from inside the platform, and reads what code of a tenant answers. The
 * request must reach only the function, carry nothing that the function believes of the platform, and no answer may cost
 * console-api more than its limits.
 */

/** Sends a part over and over, as fast as it is read. */
function flood(socket: Socket, part: string | Buffer): void {
  const write = (): void => {
    if (!socket.destroyed) socket.write(part, () => setImmediate(write));
  };
  write();
}

const head = 'HTTP/1.1 200 OK\r\n';

t.test('no header that the platform sets can be sent, in any spelling', async (t) => {
  const seen: string[] = [];
  const url = await answering(t, (request, response) => {
    seen.push(JSON.stringify(request.rawHeaders));
    response.end();
  });
  const { invoke } = await invocations(t, url);
  const only = [
    ...[
      'Host',
      'Content-Length',
      'Connection',
      'Keep-Alive',
      'Transfer-Encoding',
      'TE',
      'Trailer',
      'Upgrade',
      'Expect',
    ],
    ...['Proxy-Authorization', 'Proxy-Connection', 'Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-Ip'],
    ...[
      'X-Forwarded-Anything',
      'X-Request-Id',
      'X-Svc-Event',
      'X-Svc-Event-Attempt',
      'X-Svc-Key-Prefix',
      'X-Svc-Token',
    ],
  ];
  const spelled = only.flatMap((name) => separators.map((separator) => name.replaceAll('-', separator)));
  const names = new Set(
    [...only, ...spelled, ...Object.keys(forgeries())].flatMap((name) => [name, name.toLowerCase()]),
  );
  const isSent = (header: object) => functionInvocation.safeParse({ headers: [header] }).success;
  t.same(
    [...names].filter((name) => isSent({ name, value: 'forged' })),
    [],
  );
  for (const name of ['', ' Host', 'Host ', 'Host:', 'a\r\nHost', 'a\nb', 'ä', 'a b', 'X-Svc-Event']) {
    t.equal((await invoke({ headers: [{ name, value: 'forged' }] })).status, 400, JSON.stringify(name));
  }
  for (const value of ['a\r\nHost: forged', 'a\nb', 'a\rb', '\u{10a}Host: forged', 'ä']) {
    t.equal((await invoke({ headers: [{ name: 'a', value }] })).status, 400, JSON.stringify(value));
  }
  t.same(seen, []);
});

t.test('no path leads to another destination, or to a second request', async (t) => {
  const seen: (string | undefined)[] = [];
  const url = await answering(t, (request, response) => {
    seen.push(`${request.headers.host} ${request.url}`);
    response.end();
  });
  const { invoke } = await invocations(t, url);
  for (const path of [
    'http://169.254.169.254/latest',
    '//\r\nHost: other',
    '/ HTTP/1.1\r\nHost: other\r\n\r\nGET /second',
    '@169.254.169.254/',
    '',
    '*',
    '/\0',
    '/\u{10d}\u{10a}x',
  ]) {
    t.equal((await invoke({ path })).status, 400, JSON.stringify(path));
  }
  t.same(seen, []);
  for (const path of ['//169.254.169.254/', '/@other/', '/..//../x', '/http://other/']) {
    t.equal((await invoke({ path })).status, 200, path);
    t.equal(seen.pop(), `fn-hello--c1.apps.test ${path}`);
  }
});

t.test('an answer without end is cut off, and keeps no memory', async (t) => {
  const part = 'x'.repeat(256 * 1024);
  for (const [name, start, send] of [
    ['with a length', `${head}Content-Length: 99999999999\r\n\r\n`, part],
    ['until the connection ends', `${head}\r\n`, part],
    ['in chunks', `${head}Transfer-Encoding: chunked\r\n\r\n`, `${part.length.toString(16)}\r\n${part}\r\n`],
    ['in chunks of one byte', `${head}Transfer-Encoding: chunked\r\n\r\n`, '1\r\nx\r\n'.repeat(20_000)],
  ] as const) {
    const closed = Promise.withResolvers<void>();
    const url = await sending(t, (socket) => {
      socket.once('close', () => closed.resolve());
      socket.write(start);
      flood(socket, send);
    });
    const { invoke } = await invocations(t, url);
    const { body } = await invoke();
    t.match(body, { status: 200, bodyEnd: 'size', bodyEncoding: 'text' }, name);
    t.equal(body.body.length, answerMaxBytes, name);
    await closed.promise;
  }
});

t.test('a compressed answer stays compressed, and one that is cut within a character stays text', async (t) => {
  const url = await answering(t, (request, response) => {
    if (request.url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end('not gzip');
    else response.end(Buffer.concat([Buffer.from('x'), Buffer.from('ä'.repeat(answerMaxBytes))]));
  });
  const { invoke } = await invocations(t, url);
  t.match((await invoke({ path: '/gzip' })).body, { body: 'not gzip', bodyEnd: 'complete' });
  const { body } = await invoke();
  t.match(body, { bodyEncoding: 'text', bodyEnd: 'size' });
  t.equal(Buffer.byteLength(body.body), answerMaxBytes - 1);
});

t.test('an answer that trickles is cut off, and one that never begins ends at the function’s limit', async (t) => {
  const trickle = await sending(t, (socket) => void socket.write(`${head}Content-Length: 100\r\n\r\nab`));
  const { invoke } = await invocations(t, trickle, { bodyMs: 100 });
  t.match(await invoke(), { status: 200, body: { status: 200, body: 'ab', bodyEnd: 'time' } });

  const clock = fakeClock();
  const arrival = Promise.withResolvers<void>();
  const silent = await sending(t, () => arrival.resolve());
  const { invoke: wait } = await invocations(t, silent, { clock });
  const answer = wait();
  await arrival.promise;
  await clock.advance(300_000);
  await clock.advance(69_999);
  t.equal(clock.sleepers(), 1);
  await clock.advance(1);
  t.match(await answer, { status: 503, body: { code: 'unavailable', message: /did not answer within 370 seconds/ } });
});

t.test('broken answers are answers that are cut off, or none', async (t) => {
  const answers: readonly (readonly [sent: string, expected: object])[] = [
    [`${head}Content-Length: 10\r\n\r\nhalf`, { status: 200, body: { bodyEnd: 'broken', body: 'half' } }],
    [`${head}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n`, { status: 200, body: { bodyEnd: 'broken' } }],
    ['', { status: 503 }],
    ['not HTTP\r\n\r\n', { status: 503 }],
    [`${head}a b: c\r\n\r\n`, { status: 503 }],
    [`${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`, { status: 503 }],
    [`${head}X: ${'x'.repeat(200 * 1024)}\r\n\r\n`, { status: 503 }],
    ['HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n', { status: 503 }],
    [`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1_000)}${head}\r\nend`, { status: 200, body: { body: 'end' } }],
    ['HTTP/1.1 999 \r\n\r\n', { status: 200, body: { status: 999 } }],
  ];
  for (const [sent, expected] of answers) {
    const url = await sending(t, (socket) => socket.end(sent, 'latin1'));
    const { invoke } = await invocations(t, url);
    t.match(await invoke(), expected, JSON.stringify(sent.slice(0, 60)));
  }
});

t.test('a client that leaves ends its request to the function, which is in the audit log all the same', async (t) => {
  const arrival = Promise.withResolvers<Socket>();
  const url = await sending(t, (socket) => arrival.resolve(socket));
  const recorded = Promise.withResolvers<object>();
  const { api } = await invocations(t, url, { recordAudit: ({ line }) => Promise.resolve(recorded.resolve(line)) });
  const leave = new AbortController();
  const answer = fetch(`${api.url}/api/v1/projects/shop/functions/hello/invoke`, {
    method: 'POST',
    headers: { authorization: 'Bearer good' },
    signal: leave.signal,
  });
  const socket = await arrival.promise;
  leave.abort();
  await t.rejects(answer);
  await once(socket.resume(), 'close');
  t.match(await recorded.promise, { action: 'function.invoke', function: 'hello', request: 'GET', answer: undefined });
});

t.test('an invocation ends with the access of its caller, and is in the audit log all the same', async (t) => {
  // The function never answers.
  const arrival = Promise.withResolvers<Socket>();
  const url = await sending(t, (socket) => arrival.resolve(socket));
  const entries: object[] = [];
  let isValid = true;
  const { invoke } = await invocations(t, url, {
    recordAudit: ({ line }) => Promise.resolve(void entries.push(line)),
    async authenticate() {
      if (!isValid) throw new Problem('unauthenticated', 'The access token is not valid.');
      return testSession;
    },
  });
  const answer = invoke();
  const socket = await arrival.promise;
  isValid = false;
  t.match(await answer, { status: 401, body: { code: 'unauthenticated' } });
  await once(socket.resume(), 'close');
  t.match(entries, [{ action: 'function.invoke', request: 'GET' }]);
});

t.test('a request without an answer is in the audit log, and one that was not sent is not', async (t) => {
  const entries: object[] = [];
  const url = await sending(t, (socket) => socket.destroy());
  const { invoke } = await invocations(t, url, { recordAudit: ({ line }) => Promise.resolve(void entries.push(line)) });
  t.equal((await invoke({ method: 'DELETE' })).status, 503);
  t.equal((await invoke({}, { name: 'other' })).status, 404);
  t.match(entries, [{ action: 'function.invoke', request: 'DELETE' }]);
  t.equal(entries.length, 1);
});
