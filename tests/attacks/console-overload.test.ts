import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import t from 'tap';
import { z } from 'zod';
import type { Problem } from '../../runtime/domain/problem.ts';
import { createBodyMemory } from '../../runtime/http/body-memory.ts';
import { route } from '../../runtime/http/route.ts';
import { testApi } from '../support/api.ts';
import { startConsole } from '../support/console-process.ts';
import { flood, huge, mebibyte, send } from '../support/raw-body.ts';

/** The memory limit of console-api's pods in MiB (infra/manifests/platform/processes.ts). */
const memoryLimit = 512;

/** A request whose body lacks its last byte. */
function unfinished(path: string, { size, client }: { size: number; client?: string }): string {
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: console.test',
    'Content-Type: application/json',
    `Content-Length: ${size}`,
    ...(client === undefined ? [] : [`X-Forwarded-For: ${client}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${' '.repeat(size - 1)}`;
}

function residentMebibytes(pid: number | undefined): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}

t.test('700 unfinished bodies of 1 MB take bounded memory, and others are served', async (t) => {
  const { base, port, child, password, admin } = await startConsole(t);
  // A kept connection would have expired meanwhile.
  const statusOf = async (url: string) => (await fetch(url, { headers: { connection: 'close' } })).status;
  const login = async () => {
    const response = await fetch(`${base}/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', connection: 'close' },
      body: JSON.stringify({ email: 'admin@svc.local', password }),
    });
    return response.status;
  };
  t.equal(await login(), 201);
  const attack = async (path: string, clientOf: (index: number) => string) => {
    const requests = Array.from({ length: 700 }, (_, index) =>
      send(port, unfinished(path, { size: mebibyte, client: clientOf(index) })),
    );
    t.teardown(() => requests.forEach(({ socket }) => socket.destroy()));
    await Promise.all(requests.map(({ sent }) => sent));
    t.equal(await login(), 201, `${path}: a login`);
    t.equal(await statusOf(`${base}/health`), 200);
    t.equal(await statusOf(`${admin}/ready`), 200);
    const resident = residentMebibytes(child.pid);
    t.ok(resident < memoryLimit, `${path}: ${resident.toFixed(0)} MiB`);
    return requests;
  };
  await attack('/api/v1/session', () => '192.0.2.1');
  await attack('/api/v1/webhook/none/none', (index) => `198.51.${index >> 8}.${index & 255}`);
  t.equal(await statusOf(`${base}/metrics`), 404, 'no metrics for strangers');
  t.equal(await statusOf(`${admin}/metrics`), 200);
});

const upload = route({
  method: 'POST',
  path: '/upload',
  access: 'public',
  summary: 'Takes a body.',
  tag: 'test',
  body: z.looseObject({}),
  bodyLimit: mebibyte,
  replies: { 204: null },
  handle: () => Promise.resolve({ status: 204 }),
});

/** A route whose requests stay in progress until `release` is called. */
function holding(access: 'public' | 'session') {
  const gate = Promise.withResolvers<void>();
  let entered = 0;
  return {
    release: () => gate.resolve(),
    entered: () => entered,
    route: route({
      method: 'POST',
      path: '/hold',
      access,
      summary: 'Waits.',
      tag: 'test',
      replies: { 204: null },
      handle: async () => {
        entered++;
        await gate.promise;
        return { status: 204 };
      },
    }),
  };
}

const portOf = (url: string) => Number(new URL(url).port);
const tick = () => new Promise((resolve) => setImmediate(resolve));

t.test('the body that has been arriving for longest makes room, one without a session first', async (t) => {
  const bodies = createBodyMemory({ total: 3 * mebibyte });
  const own = route({ ...(upload as Parameters<typeof route>[0]), path: '/own', access: 'session' });
  const api = await testApi(t, { routes: [upload, own], bodies });
  const port = portOf(api.url);
  const size = mebibyte;
  const begin = async (path: string, client: string, authorization = '') => {
    const text = unfinished(path, { size, client }).replace('\r\n', `\r\nAuthorization: ${authorization}\r\n`);
    const request = send(port, text);
    t.teardown(() => request.socket.destroy());
    const expected = Math.min(bodies.bytes() + size - 1, 3 * mebibyte - 3);
    await request.sent;
    while (bodies.bytes() < expected) await tick();
    return request;
  };
  const signedIn = await begin('/api/v1/own', '192.0.2.1', 'Bearer good');
  const first = await begin('/api/v1/upload', '192.0.2.2');
  const second = await begin('/api/v1/upload', '192.0.2.3');
  t.equal((await api.call('POST', '/api/v1/upload', { body: { text: 'x'.repeat(1000) } })).status, 204);
  const answer = await first.closed;
  t.match(answer, /^HTTP\/1\.1 503 Service Unavailable\r\n/);
  t.match(answer, /\r\nRetry-After: 1\r\n/);
  t.match(answer, /\r\nConnection: close\r\n/);
  t.match(answer, /"code":"overloaded"/);
  for (const { socket } of [signedIn, second]) {
    socket.write('\n');
    await once(socket, 'data');
  }
  t.equal(bodies.bytes(), 0, 'nothing stays counted');
});

t.test(
  'a body that is declared too large is refused before it arrives, and the rest is awaited for a moment',
  async (t) => {
    const small = route({ ...(upload as Parameters<typeof route>[0]), path: '/small', bodyLimit: 1000 });
    const api = await testApi(t, { routes: [small] });
    const text = unfinished('/api/v1/small', { size: 2000 });
    const { socket, closed } = send(portOf(api.url), text);
    await once(socket, 'data');
    socket.write(`\n${text}`);
    const answers = await closed;
    t.equal(answers.split('HTTP/1.1 413 ').length - 1, 2, 'the connection stays usable, but not for ever');
    t.equal(answers.split('\r\nConnection: keep-alive\r\n').length - 1, 2);
  },
);

t.test('one owner’s bodies are bounded, and so are all that are being worked on', (t) => {
  const bodies = createBodyMemory({ total: 3000, perOwner: 2000 });
  const place = (name: string, bytes: number) => {
    const bodyPlace = bodies.place({ name, isKnown: true });
    const refusals: Problem[] = [];
    bodyPlace.arriving((problem) => refusals.push(problem));
    bodyPlace.take(bytes);
    return { ...bodyPlace, refusals };
  };
  const first = place('a', 1500);
  const second = place('a', 1000);
  t.match(first.refusals, [{ code: 'overloaded' }], 'its own oldest makes room');
  second.arrived();
  const third = bodies.place({ name: 'a', isKnown: true });
  t.throws(() => third.take(1500), { code: 'too_many_requests', details: { retryAfterSeconds: 1 } });
  third.free();
  place('b', 2000).arrived();
  const fourth = bodies.place({ name: 'c', isKnown: true });
  t.throws(() => fourth.take(1), { code: 'overloaded', details: { retryAfterSeconds: 1 } });
  fourth.free();
  second.free();
  second.free();
  t.equal(bodies.bytes(), 2000, 'freed once');
  t.end();
});

t.test('a body that does not arrive in time: 408', async (t) => {
  const bodies = createBodyMemory({ arrivalMs: 50 });
  const api = await testApi(t, { routes: [upload], bodies });
  const { closed } = send(portOf(api.url), unfinished('/api/v1/upload', { size: 100 }));
  const answer = await closed;
  t.match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
  t.match(answer, /"code":"request_timeout"/);
  t.equal(bodies.bytes(), 0);
});

t.test('requests in progress are limited per client, per user and in all; health is always served', async (t) => {
  const anonymous = holding('public');
  const health = route({
    ...(upload as Parameters<typeof route>[0]),
    method: 'GET',
    path: '/health',
    unlimited: true,
    handle: () => Promise.resolve({ status: 204 }),
  });
  const limits = { total: 3, perClient: 2 };
  const api = await testApi(t, { routes: [anonymous.route, upload], rootRoutes: [health], limits });
  const from = (client: string, path = '/api/v1/hold') =>
    api.call('POST', path, { headers: { 'x-forwarded-for': client }, ...(path !== '/api/v1/hold' && { body: {} }) });
  const held = [from('192.0.2.1'), from('192.0.2.1'), from('192.0.2.2')];
  while (anonymous.entered() < 3) await tick();
  const own = await from('192.0.2.1');
  t.match(own, { status: 429, body: { code: 'too_many_requests' } });
  t.equal(own.headers.get('retry-after'), '1');
  t.match(await from('192.0.2.9', '/api/v1/upload'), { status: 503, body: { code: 'overloaded' } });
  t.equal((await api.call('GET', '/health')).status, 204);
  anonymous.release();
  t.match(await Promise.all(held), [{ status: 204 }, { status: 204 }, { status: 204 }]);
  t.equal((await from('192.0.2.9', '/api/v1/upload')).status, 204, 'ended requests no longer count');

  const signedIn = holding('session');
  const users = await testApi(t, { routes: [signedIn.route], limits: { perUser: 1 } });
  const one = users.call('POST', '/api/v1/hold');
  while (signedIn.entered() < 1) await tick();
  t.match(await users.call('POST', '/api/v1/hold'), { status: 429, body: { code: 'too_many_requests' } });
  signedIn.release();
  t.equal((await one).status, 204);
});

t.test('slow bodies cannot fill the places of their client', async (t) => {
  const api = await testApi(t, { routes: [upload], limits: { total: 2, perClient: 2 } });
  const slow: { socket: Socket; closed: Promise<string> }[] = [];
  t.teardown(() => slow.forEach(({ socket }) => socket.destroy()));
  for (let index = 0; index < 5; index++) slow.push(send(portOf(api.url), unfinished('/api/v1/upload', { size: 100 })));
  const answers = await Promise.all(slow.slice(0, 3).map(({ closed }) => closed));
  for (const answer of answers) t.match(answer, /"code":"overloaded"/);
  for (let tries = 0; tries < 5; tries++) {
    t.equal((await api.call('POST', '/api/v1/upload', { body: {} })).status, 204);
  }
});

t.test('a request that is not HTTP gets an answer in JSON with the headers of all answers', async (t) => {
  const api = await testApi(t, { routes: [upload], baseUrl: 'https://console.test' });
  const noise = await send(portOf(api.url), 'HELLO\r\n\r\n').closed;
  t.match(noise, /^HTTP\/1\.1 400 Bad Request\r\n/);
  const header = `X-Long: ${'x'.repeat(20_000)}\r\n`;
  const long = await send(portOf(api.url), `GET / HTTP/1.1\r\nHost: a\r\n${header}\r\n`).closed;
  t.match(long, /^HTTP\/1\.1 431 /);
  t.match(long, /"code":"headers_too_large"/);
  for (const answer of [noise, long]) {
    t.match(answer, /\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n/);
    t.match(answer, /\r\nStrict-Transport-Security: max-age=31536000\r\n/);
    t.match(answer, /\r\nContent-Type: application\/json; charset=utf-8\r\n/);
  }
});

t.test('a refused body that breaks off gets no second response', async (t) => {
  const api = await testApi(t, { routes: [upload] });
  const head = unfinished('/api/v1/upload', { size: 2 * mebibyte }).split('\r\n\r\n')[0] ?? '';
  const { socket, closed } = send(portOf(api.url), `${head}\r\n\r\n`);
  await once(socket, 'data');
  socket.end('{');
  t.equal((await closed).match(/HTTP\/1\.1 \d+/g)?.join(), 'HTTP/1.1 413');
});

t.test('of many refused bodies a few are read, and the clients of the others get their answers, too', async (t) => {
  const bodies = createBodyMemory({ reading: 2, countMs: 60_000, lingerMs: 500 });
  const api = await testApi(t, { routes: [upload], bodies });
  const port = portOf(api.url);
  const begin = (size: number) => {
    const request = flood(port, '/api/v1/upload', { size });
    t.teardown(() => request.socket.destroy());
    return request;
  };
  const readToTheEnd = [];
  for (let index = 0; index < 2; index++) {
    const request = begin(2 * mebibyte);
    const [answer] = (await request.answered) as [Buffer];
    readToTheEnd.push(request);
    t.match(answer.toString(), /^HTTP\/1\.1 413 .*\r\nConnection: keep-alive\r\n/s);
  }
  for (const { socket, sent } of readToTheEnd) {
    await sent;
    socket.write('GET /api/v1/nothing HTTP/1.1\r\nHost: console.test\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    t.match(answer.toString(), /^HTTP\/1\.1 404 /, 'the connection stays usable');
  }
  const left = Array.from({ length: 5 }, () => begin(huge));
  for (const { answered, ended, closed, isTaken } of left) {
    const [answer] = (await answered) as [Buffer];
    t.match(answer.toString(), /^HTTP\/1\.1 413 .*\r\nConnection: close\r\n/s);
    t.equal(await ended, 'ended', 'the server ends its side, and resets nothing before the client has seen that');
    await closed;
    t.notOk(isTaken(), 'and reads no more');
  }
  t.equal((await api.call('POST', '/api/v1/upload', { body: { text: 'x'.repeat(2 * mebibyte) } })).status, 413);
});

t.test('of the connections whose bodies are left unread, the oldest makes room', async (t) => {
  const bodies = createBodyMemory({ reading: 0, lingerMs: 60_000, lingering: 2 });
  const api = await testApi(t, { routes: [upload], bodies });
  const requests = [];
  for (let index = 0; index < 3; index++) {
    const request = flood(portOf(api.url), '/api/v1/upload', { size: huge });
    t.teardown(() => request.socket.destroy());
    await request.ended;
    requests.push(request);
  }
  await requests[0]?.closed;
  t.same(
    requests.map(({ socket }) => socket.destroyed),
    [true, false, false],
  );
});

t.test('a body that no route reads is not read without end either', async (t) => {
  const own = route({ ...(upload as Parameters<typeof route>[0]), path: '/own', access: 'session' });
  const list = route({
    method: 'GET',
    path: '/list',
    access: 'public',
    summary: 'Lists.',
    tag: 'test',
    replies: { 204: null },
    handle: () => Promise.resolve({ status: 204 }),
  });
  const api = await testApi(t, { routes: [upload, own, holding('session').route, list] });
  for (const [method, path, status] of [
    ['POST', '/api/v1/own', 401],
    ['POST', '/api/v1/hold', 401],
    ['POST', '/api/v1/nothing', 404],
    ['DELETE', '/api/v1/upload', 405],
    ['GET', '/api/v1/list', 204],
  ] as const) {
    const request = flood(portOf(api.url), path, { method, size: huge });
    const [answer] = (await request.answered) as [Buffer];
    t.match(answer.toString(), new RegExp(`^HTTP/1\\.1 ${status} `), path);
    await request.closed;
    t.notOk(request.isTaken(), `${method} ${path}`);
  }
});
