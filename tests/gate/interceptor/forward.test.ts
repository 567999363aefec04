import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import t from 'tap';
import { separators } from '../../support/header-spellings.ts';
import { createWorld, functionId, host, until } from './world.ts';

const json = (body: string) => JSON.parse(body) as { code: string; details: { fault: string; requestId: string } };

t.test('an unknown host is a JSON 404; port and case of a known one do not matter', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const unknown = await world.ask(port, { headers: { host: 'fn-other--test.apps.test' } });
  t.equal(unknown.status, 404);
  t.equal(json(unknown.body).code, 'unknown_host');
  await world.startPod((_, response) => response.end('ok'));
  t.equal((await world.ask(port, { headers: { host: 'FN-hello--test.APPS.test:8443' } })).body, 'ok');
});

t.test('headers are forwarded unchanged in both directions, except hop-by-hop ones', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  let seen: string[] = [];
  await world.startPod((request, response) => {
    seen = request.rawHeaders;
    response.writeHead(418, 'Short and stout', [
      'Set-Cookie',
      'a=1',
      'Set-Cookie',
      'b=2',
      'X-Svc-Cold-Start',
      'forged',
      'Content-Length',
      '2',
      'Connection',
      'X-Gone',
      'X-Gone',
      'hop',
    ]);
    response.end('ok');
  });
  const answer = await world.ask(port, {
    headers: {
      'X-Request-Id': 'given-1',
      'X-Forwarded-For': '203.0.113.7',
      'X-Forwarded-Proto': 'https',
      'X-Svc-Key-Prefix': 'abcdefgh',
      Accept: ['a/b', 'c/d'],
      Connection: 'keep-alive, X-Drop, X-Svc-Key-Prefix',
      'X-Drop': 'hop',
      ...Object.fromEntries(
        ['x-svc-event', 'X-Svc-Event-Attempt'].flatMap((name) =>
          separators.flatMap((separator) => [
            [name.replaceAll('-', separator), 'forged'],
            [name.replace('-', separator).toUpperCase(), 'forged'],
          ]),
        ),
      ),
      'X-Svc-Events': 'other',
      TE: 'trailers',
    },
  });
  const header = (name: string) => seen.flatMap((entry, i) => (i % 2 === 0 && entry === name ? [seen[i + 1]] : []));
  t.same(header('X-Request-Id'), ['given-1']);
  t.same(header('X-Forwarded-For'), ['203.0.113.7']);
  t.same(header('X-Forwarded-Proto'), ['https']);
  t.same(header('X-Svc-Key-Prefix'), ['abcdefgh'], 'a client cannot remove the gate headers');
  t.same(header('Accept'), ['a/b', 'c/d']);
  t.same(header('X-Drop'), []);
  t.same(header('TE'), ['trailers'], 'the interceptor forwards trailers');
  t.notMatch(seen.join(), 'forged', 'a client cannot pose as an event source, in any spelling');
  t.same(header('X-Svc-Events'), ['other']);
  t.equal(answer.status, 418);
  t.same(answer.headers['set-cookie'], ['a=1', 'b=2']);
  t.match(answer.headers, { 'x-svc-cold-start': 'true', 'x-request-id': 'given-1' });
  t.notOk(answer.headers['x-gone']);

  const unsafe = await world.ask(port, { headers: { 'X-Request-Id': 'bad id "<script>' } });
  t.match(header('X-Request-Id')[0], /^[0-9a-f-]{36}$/);
  t.equal(unsafe.headers['x-request-id'], header('X-Request-Id')[0]);
  const next = await world.ask(port);
  t.match(next.headers['x-request-id'], /^[0-9a-f-]{36}$/);
  t.not(next.headers['x-request-id'], unsafe.headers['x-request-id'], 'each request has its own id');
});

t.test('every framing of a body is preserved', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  await world.startPod((request, response) => {
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    void text(request).then((body) => response.end(JSON.stringify({ method: request.method, length, coding, body })));
  });
  const ask = async (init: Parameters<typeof world.ask>[1]) =>
    JSON.parse((await world.ask(port, init)).body) as Record<string, string>;
  t.same(await ask({}), { method: 'GET', body: '' });
  t.same(await ask({ method: 'POST', headers: { 'content-length': '0' } }), { method: 'POST', length: '0', body: '' });
  t.same(await ask({ method: 'POST', headers: { 'content-length': '2' }, body: 'hi' }), {
    method: 'POST',
    length: '2',
    body: 'hi',
  });
  t.same(await ask({ method: 'DELETE', headers: { 'transfer-encoding': 'chunked' }, body: 'hi' }), {
    method: 'DELETE',
    coding: 'chunked',
    body: 'hi',
  });
  t.same(await ask({ method: 'PUT', headers: { 'content-length': '2', expect: '100-continue' }, body: 'hi' }), {
    method: 'PUT',
    length: '2',
    body: 'hi',
  });
  const head = await world.ask(port, { method: 'HEAD' });
  t.same([head.status, head.body], [200, '']);
});

t.test('on a kept connection, a body of any size arrives whole, and a head does not wait for its body', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const connections = new Set<Socket>();
  const heads = new EventEmitter();
  await world.startPod((request, response) => {
    connections.add(request.socket);
    heads.emit(request.url ?? '');
    request.pipe(response);
  });
  for (const size of [1, 1_000, 15 * 1024, 15 * 1024 + 1, 200_000]) {
    const body = Buffer.from(Array.from({ length: size }, (_, index) => index % 256));
    const request = world.open(port, { method: 'POST', headers: { 'content-length': String(size) } });
    request.end(body);
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    t.ok((await buffer(response)).equals(body), `${size} bytes`);
  }
  const request = world.open(port, { method: 'POST', path: '/late', headers: { 'content-length': '4' } });
  const head = once(heads, '/late');
  request.flushHeaders();
  await head;
  request.end('body');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(await text(response), 'body');
  t.equal(connections.size, 1);
});

t.test('100 MB are forwarded in both directions at once', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  await world.startPod((request, response) => request.pipe(response));
  const chunk = Buffer.from(Array.from({ length: 64 * 1024 }, (_, index) => (index * 31 + (index >> 8)) % 256));
  const chunks = 1_600;
  const sent = createHash('sha256');
  const request = world.open(port, { method: 'POST' });
  Readable.from(
    (function* () {
      for (let n = 0; n < chunks; n++) {
        sent.update(chunk);
        yield chunk;
      }
    })(),
  ).pipe(request);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const received = createHash('sha256');
  let bytes = 0;
  for await (const part of response) {
    received.update(part as Buffer);
    bytes += (part as Buffer).length;
  }
  t.equal(bytes, chunk.length * chunks);
  t.equal(received.digest('hex'), sent.digest('hex'));
});

t.test('1 GiB is forwarded, and never buffered whole', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const chunk = Buffer.alloc(1024 * 1024, 'svc');
  const length = 1024 * chunk.length;
  await world.startPod((_, response) => {
    response.writeHead(200, { 'content-length': length });
    Readable.from(Array.from({ length: 1024 }, () => chunk)).pipe(response);
  });
  const request = world.open(port);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let bytes = 0;
  let maxInFlight = 0;
  for await (const part of response) {
    bytes += (part as Buffer).length;
    maxInFlight = Math.max(maxInFlight, process.memoryUsage.rss());
  }
  t.equal(bytes, length);
  t.ok(maxInFlight < length / 2, `${maxInFlight} bytes at most for client, interceptor and pod`);
});

t.test('a slow reader slows the pod down, without buffering', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const chunk = Buffer.alloc(256 * 1024);
  const chunks = 400;
  let written = 0;
  await world.startPod((_, response) => {
    Readable.from(
      (function* () {
        for (; written < chunks; written++) yield chunk;
      })(),
    ).pipe(response);
  });
  const request = world.open(port);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // The pod stops once every buffer on the way is full.
  for (let last = -1; last !== written;) {
    last = written;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  t.ok(written < chunks / 2, `${written} of ${chunks} chunks were written unread`);
  let bytes = 0;
  for await (const part of response) bytes += (part as Buffer).length;
  t.equal(bytes, chunk.length * chunks);
});

t.test('a stream reaches the client in pieces', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const next: ((piece?: string) => void)[] = [];
  await world.startPod((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    next.push((piece) => (piece === undefined ? response.end() : response.write(piece)));
  });
  const request = world.open(port);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  for (const piece of ['data: 1\n\n', 'data: 2\n\n']) {
    next[0]?.(piece);
    t.equal(((await once(response, 'data')) as [Buffer])[0].toString(), piece);
  }
  next[0]?.();
  await once(response, 'end');
});

t.test('a client that disconnects aborts the request in the pod', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity } = await world.startInterceptor();
  let requestCount = 0;
  let departures = 0;
  await world.startPod((request, response) => {
    requestCount++;
    response.once('close', () => departures++);
    if (request.url === '/begun') response.write('begun');
  });
  for (const path of ['/silent', '/begun']) {
    const before = departures;
    const request = world.open(port, { path });
    request.on('error', () => undefined);
    request.end();
    if (path === '/begun') await once(request, 'response');
    else await until(() => requestCount === 1);
    request.destroy();
    await until(() => departures === before + 1 && activity.inflight() === 0);
  }
  t.equal(departures, 2);
});

t.test('a refused connection loses no request: it goes with its body to a pod that accepts it', async (t) => {
  const world = createWorld(t, { replicas: 2 });
  const { port, endpoints } = await world.startInterceptor();
  const dead = await world.startPod((_, response) => response.end('first'));
  await until(() => endpoints.pick(functionId) !== undefined);
  await dead.kill();
  const answer = world.ask(port, { method: 'POST', body: 'kept' });
  await world.startPod((request, response) => request.pipe(response));
  t.equal((await answer).body, 'kept');
  const answers = await Promise.all(Array.from({ length: 5 }, () => world.ask(port, { method: 'POST', body: 'kept' })));
  t.ok(answers.every(({ body, headers }) => body === 'kept' && headers['x-svc-cold-start'] === 'false'));
});

t.test('requests go to the pod with the fewest', async (t) => {
  const world = createWorld(t, { replicas: 2 });
  const { port, endpoints } = await world.startInterceptor();
  const at = [0, 0];
  const finish: (() => void)[] = [];
  for (const n of [0, 1]) {
    const usable = new Promise<void>((resolve) => endpoints.onChange(() => resolve()));
    await world.startPod((_, response) => {
      at[n] = (at[n] ?? 0) + 1;
      finish.push(() => response.end());
    });
    await usable;
  }
  const answers = Array.from({ length: 6 }, () => world.ask(port));
  await until(() => finish.length === 6);
  t.same(at, [3, 3]);
  for (const end of finish) end();
  await Promise.all(answers);
});

t.test('after a pod breaks off, a repeatable request is repeated once; others report the function', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const seen: string[] = [];
  await world.startPod((request, response) => {
    seen.push(`${request.method} ${request.url}`);
    const count = seen.filter((entry) => entry.endsWith(request.url ?? '')).length;
    if (request.url === '/once' && count > 1) response.writeHead(200, { connection: 'close' }).end('second try');
    else request.socket.destroy();
  });
  t.equal((await world.ask(port, { path: '/once' })).body, 'second try');
  const get = await world.ask(port, { path: '/always' });
  t.equal(get.status, 502);
  t.match(json(get.body), { code: 'function_broke_off', details: { fault: 'function' } });
  t.equal((await world.ask(port, { method: 'POST', path: '/post', body: 'x' })).status, 502);
  t.same(seen, ['GET /once', 'GET /once', 'GET /always', 'GET /always', 'POST /post']);
});

t.test('an answer that the pod cuts off is cut off at the client, never ended cleanly', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity } = await world.startInterceptor();
  await world.startPod((request, response) => {
    response.write('half');
    setImmediate(() => request.socket.destroy());
  });
  const request = world.open(port);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await t.rejects(text(response), { code: 'ECONNRESET' });
  await until(() => activity.inflight() === 0);
});

t.test("an invalid answer is the function's fault, and affects nothing else", async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const heads: Record<string, string> = {
    '/status': 'HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n',
    '/reason': 'HTTP/1.1 200 O\u0001K\r\nContent-Length: 0\r\n\r\n',
    '/header': 'HTTP/1.1 200 OK\r\nX Y: 1\r\nContent-Length: 0\r\n\r\n',
    '/switch': 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n',
    '/framing': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
    '/text': 'nonsense',
    '/line': 'HTTP/1.1 200 OK\nContent-Length: 0\n\n',
    '/folded': 'HTTP/1.1 200 OK\r\nX: 1\r\n more\r\nContent-Length: 0\r\n\r\n',
    '/value': 'HTTP/1.1 200 OK\r\nX: 1\rSet-Cookie: a=1\r\nContent-Length: 0\r\n\r\n',
  };
  await world.startPod((request, response) => {
    const head = heads[request.url ?? ''];
    if (head === undefined) response.end('fine');
    else request.socket.end(head, 'latin1');
  });
  for (const path of Object.keys(heads)) {
    const answer = await world.ask(port, { path });
    t.match([answer.status, json(answer.body).code], [502, 'function_broke_off'], path);
  }
  t.equal((await world.ask(port)).body, 'fine');
});

t.test("a client that leaves during its body, after the answer, ends the pod's request too", async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity } = await world.startInterceptor();
  let broken = false;
  await world.startPod((request, response) => {
    request.socket.once('close', () => (broken = true));
    request.resume();
    response.end('early');
  });
  const request = world.open(port, { method: 'POST', headers: { 'content-length': '1000' } });
  request.on('error', () => undefined);
  request.write('begun');
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(await text(response), 'early');
  request.destroy();
  await until(() => broken && activity.inflight() === 0);
});

t.test('an answer that precedes the end of the body leaves the connection usable', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  await world.startPod((request, response) => {
    if (request.method === 'POST') response.writeHead(413).end('too much');
    else response.end('next');
  });
  const big = await world.ask(port, { method: 'POST', body: 'x'.repeat(5_000_000) });
  t.same([big.status, big.body], [413, 'too much']);
  t.equal((await world.ask(port)).body, 'next');
});

t.test('a body is forwarded although the answer is complete, and the connection is reused', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity } = await world.startInterceptor();
  const bodies: Promise<string>[] = [];
  const connections = new Set<Socket>();
  await world.startPod((request, response) => {
    connections.add(request.socket);
    bodies.push(text(request));
    response.end('early');
  });
  for (const headers of [{ 'content-length': '10' }, { 'transfer-encoding': 'chunked' }]) {
    const request = world.open(port, { method: 'POST', headers });
    request.write('begun');
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    t.equal(await text(response), 'early');
    request.end('ended');
    t.equal(await bodies.at(-1), 'begunended');
  }
  await until(() => activity.inflight() === 0);
  t.equal((await world.ask(port)).body, 'early');
  t.equal(connections.size, 1);
});

t.test('an answer without a length ends with the connection, and is cut off by a reset', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  await world.startPod((request) => {
    request.socket.write('HTTP/1.0 200 OK\r\nX-Half: \u00c3\u00a0\r\n\r\nto the ', 'latin1');
    if (request.url === '/whole') setImmediate(() => request.socket.end('end'));
    else request.socket.once('data', () => request.socket.resetAndDestroy());
  });
  const whole = await world.ask(port, { path: '/whole' });
  t.same([whole.status, whole.body, whole.headers['x-half']], [200, 'to the end', '\u00c3\u00a0']);
  const request = world.open(port, { method: 'POST', path: '/cut', headers: { 'transfer-encoding': 'chunked' } });
  request.flushHeaders();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  request.write('more');
  await t.rejects(text(response), { code: 'ECONNRESET' });
});

t.test('an idle connection lives no longer than its pod says, and unrequested bytes close it', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const connections = new Set<Socket>();
  const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n';
  const heads: Record<string, string> = {
    '/kept': `${answer}Keep-Alive: timeout=5\r\n\r\nfine`,
    '/short': `${answer}Keep-Alive: timeout=1\r\n\r\nfine`,
    '/stray': `${answer}\r\nfineHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged`,
    '/interim': `HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\n${answer}\r\nfine`,
  };
  await world.startPod((request) => {
    connections.add(request.socket);
    request.socket.write(heads[request.url ?? ''] ?? '');
  });
  const ask = async (path: string) => {
    t.match(await world.ask(port, { path }), { status: 200, body: 'fine' }, path);
    return connections.size;
  };
  t.same([await ask('/kept'), await ask('/interim'), await ask('/short')], [1, 1, 1]);
  t.same([await ask('/stray'), await ask('/kept'), await ask('/kept')], [2, 3, 3]);
});

t.test('the response of a pod that refuses an upgrade is relayed, and the connection closed', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity } = await world.startInterceptor();
  await world.startPod(
    (_, response) => response.end(),
    (_, socket) => socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno'),
  );
  const refused = await world.ask(port, { headers: { connection: 'Upgrade', upgrade: 'websocket' } });
  t.match(refused, { status: 403, body: 'no', headers: { connection: 'close' } });
  const unknown = await world.ask(port, { headers: { host: 'x.test', connection: 'Upgrade', upgrade: 'websocket' } });
  t.equal(json(unknown.body).code, 'unknown_host');
  await until(() => activity.inflight() === 0);
});

t.test('an open upgrade counts as in flight, and ends when either side ends', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port, activity, interceptor } = await world.startInterceptor();
  const pods: Socket[] = [];
  await world.startPod(
    (_, response) => response.end(),
    (_, socket) => {
      pods.push((socket as Socket).resume());
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n');
    },
  );
  const upgrade = async () => {
    const request = world.open(port, { headers: { connection: 'Upgrade', upgrade: 'echo' } });
    request.end();
    const [, socket] = (await once(request, 'upgrade')) as [IncomingMessage, Socket];
    return socket;
  };
  const client = await upgrade();
  t.match(interceptor.report(), { replica: 'interceptor-0', functions: [{ inflight: 1, requests: 1, idleMs: 0 }] });
  client.destroy();
  await once(pods[0] as Socket, 'end');
  await until(() => activity.inflight() === 0);
  const second = await upgrade();
  pods[1]?.end('bye');
  t.equal(await text(second), 'bye');
  second.end();
  await until(() => activity.inflight() === 0);
});

t.test('draining finishes requests in progress, and closes client connections', async (t) => {
  const world = createWorld(t, { replicas: 1, drainMs: 10_000 });
  const { port, server, activity } = await world.startInterceptor();
  const finish: (() => void)[] = [];
  await world.startPod((_, response) => finish.push(() => response.end('done')));
  const underWay = world.ask(port);
  await until(() => finish.length === 1);
  const stopped = server.stop();
  await until(() => activity.inflight() === 1);
  for (const end of finish) end();
  const answer = await underWay;
  t.match(answer, { status: 200, body: 'done', headers: { connection: 'close' } });
  await stopped;
  await t.rejects(world.ask(port), { code: 'ECONNREFUSED' });
});

t.test('requests that outlast the drain are cut', async (t) => {
  const world = createWorld(t, { replicas: 1, drainMs: 50 });
  const { port, server, activity } = await world.startInterceptor();
  await world.startPod(
    () => undefined,
    (_, socket) => socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n'),
  );
  const upgrade = world.open(port, { headers: { connection: 'Upgrade', upgrade: 'echo' } });
  upgrade.end();
  const [, socket] = (await once(upgrade, 'upgrade')) as [IncomingMessage, Socket];
  const hanging = world.ask(port);
  await until(() => activity.inflight() === 2);
  const closed = once(socket.on('error', () => undefined).resume(), 'close');
  await Promise.all([server.stop(), t.rejects(hanging, { code: 'ECONNRESET' }), closed]);
});

t.test('an idle connection is closed before the pod would close it, according to its header', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  const ended: Promise<'by us' | 'by the pod'>[] = [];
  await world.startPod((request, response) => {
    const { socket } = request;
    // `end` comes only from the other side.
    ended.push(
      Promise.race([
        once(socket, 'end').then(() => 'by us' as const),
        once(socket, 'close').then(() => 'by the pod' as const),
      ]),
    );
    response.writeHead(200, { Connection: 'keep-alive', 'Keep-Alive': 'timeout=2', 'Content-Length': 0 }).end();
  });
  t.equal((await world.ask(port)).status, 200);
  t.equal(await ended[0], 'by us');
  t.equal((await world.ask(port)).status, 200);
});

t.test('a head of 60 KiB is forwarded; a larger one is named as the cause, and not asked for again', async (t) => {
  const world = createWorld(t, { replicas: 1 });
  const { port } = await world.startInterceptor();
  let requests = 0;
  await world.startPod((request, response) => {
    requests++;
    const value = 'x'.repeat(Number(request.headers['x-size']));
    response.writeHead(200, Object.fromEntries([1, 2, 3, 4].map((n) => [`X-${n}`, value]))).end('ok');
  });
  const answer = (size: number) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const sized = { host: '127.0.0.1', port, maxHeaderSize: 200_000, headers: { host, 'x-size': String(size) } };
      httpRequest(sized, resolve).on('error', reject).end();
    });
  const large = await answer(15_000);
  t.match([large.statusCode, large.headers['x-4']?.length, await text(large)], [200, 15_000, 'ok']);
  const tooLarge = await answer(17_000);
  t.equal(tooLarge.statusCode, 502);
  t.match(json(await text(tooLarge)), {
    code: 'function_head_too_large',
    message: /headers of the function's response are larger than 64 KiB/,
    details: { fault: 'function' },
  });
  t.equal(requests, 2);
});

t.test('trailers reach the client, and only over HTTP/1.1', async (t) => {
  const world = createWorld(t, { replicas: 1, halfCloseMs: 2 ** 31 - 1 });
  const { port } = await world.startInterceptor();
  await world.startPod((request, response) => {
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    response.setHeader('Trailer', 'Grpc-Status, X-Sum');
    response.write('body');
    response.addTrailers([
      ['Grpc-Status', '0'],
      ['X-Sum', 'caf\xe9'],
      ['X-Sum', 'second'],
    ]);
    response.end();
  });
  const request = world.open(port);
  request.end();
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  t.equal(await text(response), 'body');
  t.equal(response.headers.trailer, 'Grpc-Status, X-Sum');
  t.same(response.rawTrailers, ['Grpc-Status', '0', 'X-Sum', 'caf\xe9', 'X-Sum', 'second']);
  t.equal((await world.ask(port, { method: 'HEAD' })).status, 200, 'a response without a body announces none');
  const old = await exchange(port, `GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`);
  t.match(old, /^HTTP\/1\.1 200 OK[^]*\r\n\r\nbody$/, 'HTTP/1.0 knows no trailers');
});

t.test('a client that ends its side after the request gets the answer', async (t) => {
  // The limit for clients that are gone never ends.
  const world = createWorld(t, { replicas: 1, halfCloseMs: 2 ** 31 - 1 });
  const { port, activity } = await world.startInterceptor();
  const arrived = Promise.withResolvers<() => void>();
  await world.startPod((_, response) => arrived.resolve(() => response.end('late answer')));
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.end(`GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  const reading = text(socket);
  const release = await arrived.promise;
  await new Promise((resolve) => setImmediate(resolve));
  release();
  t.match(await reading, /200 OK[^]*late answer$/);
  await until(() => activity.inflight() === 0);
  // Without a request there is nothing to wait for.
  const idle = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  idle.end();
  t.equal(await text(idle), '');
});

/** Sends bytes, ends the connection's side and returns what comes back; needs a long `halfCloseMs`. */
async function exchange(port: number, bytes: string): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  socket.end(bytes);
  return text(socket);
}
