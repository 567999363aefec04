import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { StoreBusy, type LogStore } from '../../../runtime/logs/log-store.ts';
import { queryParameters } from '../../../runtime/logs/query.ts';
import { appendToken, everything, readToken, record, startServer, startStore, texts } from './rig.ts';

async function rig(t: Test, wrap: (store: LogStore) => LogStore = (store) => store) {
  const store = await startStore(t);
  const { url, client } = await startServer(t, wrap(store));
  const append = (lines: readonly unknown[], headers: Record<string, string> = {}, body?: Buffer) =>
    fetch(`${url}/append`, {
      method: 'POST',
      headers: { authorization: `Bearer ${appendToken}`, ...headers },
      body: new Uint8Array(body ?? gzipSync(lines.map((line) => JSON.stringify(line)).join('\n'))),
    });
  const read = (query: string, token = readToken) =>
    fetch(`${url}/read?${query}`, { headers: { authorization: `Bearer ${token}` } });
  return { store, url, client, append, read };
}

t.test('a shipper appends gzip JSON lines, each batch once', async (t) => {
  const { append, client, url, store } = await rig(t);
  const headers = { 'x-svc-shipper': 'node-1', 'x-svc-sequence': '1' };
  t.equal((await append([record('one', 1)], headers)).status, 204);
  t.equal((await append([record('one', 1)], headers)).status, 204);
  t.equal((await append([record('two', 2), '{'], { ...headers, 'x-svc-sequence': '2' })).status, 204);
  t.same(await texts(client), ['one', 'two']);
  const status = await fetch(`${url}/status`, { headers: { authorization: `Bearer ${readToken}` } });
  t.match(await status.json(), { bytes: 0, dropped: { invalid: 1 }, namespaces: {} });
  t.match(store.status(), { dropped: { invalid: 1 } });
});

t.test('each operation needs its token', async (t) => {
  const { append, read, url, client } = await rig(t);
  const query = queryParameters(everything).toString();
  for (const token of ['', 'wrong', appendToken]) t.equal((await read(query, token)).status, 401);
  for (const token of ['', 'wrong', readToken]) {
    t.equal((await append([record('x', 1)], { authorization: `Bearer ${token}` })).status, 401);
    t.equal((await append([record('x', 1)], { authorization: token })).status, 401);
  }
  t.equal((await fetch(`${url}/status`)).status, 401);
  t.equal((await fetch(`${url}/other`)).status, 404);
  t.same(await texts(client), []);
});

t.test('bodies are bounded, compressed and not', async (t) => {
  const { append, url, client } = await rig(t);
  t.equal((await append([], {}, Buffer.alloc(9 * 1024 * 1024, 'x'))).status, 413);
  t.equal((await append([], {}, gzipSync(Buffer.alloc(40 * 1024 * 1024, 'x')))).status, 413, 'a bomb');
  t.equal((await append([], { 'content-encoding': 'gzip' }, Buffer.from('no gzip'))).status, 400);
  t.equal((await append([], { 'x-svc-shipper': '../x', 'x-svc-sequence': '1' })).status, 400);
  t.equal((await append([], { 'x-svc-shipper': 'node' })).status, 400);
  // Without a declared length.
  const { port } = new URL(url);
  const socket = connect(Number(port), '127.0.0.1');
  socket.on('error', () => undefined);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const closed = once(socket, 'close');
  socket.write(
    `POST /append HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${appendToken}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  );
  const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`;
  for (let count = 0; count < 12 && !socket.destroyed; count++) socket.write(chunk);
  await closed;
  t.match(answer, /^HTTP\/1\.1 413/);
  t.equal((await append([record('after', 1)])).status, 204);
  t.same(await texts(client), ['after']);
});

t.test('odd queries are refused', async (t) => {
  const { read } = await rig(t);
  const good = Object.fromEntries(queryParameters(everything));
  const cases: Record<string, string>[] = [
    { namespace: '../shop-prod' },
    { namespace: '' },
    { namespace: 'shop-prod/../../x' },
    { name: '..' },
    { kind: 'secret' },
    { from: 'yesterday' },
    { to: '2026-01-01T00:00:00Z' },
    { level: 'loud' },
    { pod: '../a' },
    { pod: '*' },
    { container: 'a/b' },
    { direction: 'sideways' },
    { limit: '0' },
    { limit: '1e9' },
    { cursor: 'x' },
    { cursor: `${everything.from}_-1` },
    { cursor: `${everything.from}_${'9'.repeat(40)}` },
    { search: 'x'.repeat(201) },
    { reader: '../user' },
  ];
  for (const change of cases) {
    const answer = await read(new URLSearchParams({ ...good, ...change }).toString());
    t.equal(answer.status, 400, JSON.stringify(change));
  }
  t.equal((await read(new URLSearchParams(good).toString())).status, 200);
});

t.test('a store that is behind or full asks for patience', async (t) => {
  let reason: StoreBusy['reason'] = 'behind';
  const { append } = await rig(t, (store) => ({ ...store, append: () => Promise.reject(new StoreBusy(reason)) }));
  const behind = await append([record('x', 1)]);
  t.equal(behind.status, 503);
  t.equal(behind.headers.get('retry-after'), '1');
  reason = 'disk_full';
  t.equal((await append([record('x', 1)])).headers.get('retry-after'), '10');
});

t.test('a namespace has two readings at once, and others are served beside it', async (t) => {
  const started: string[] = [];
  const hold = Promise.withResolvers<undefined>();
  const { read, client } = await rig(t, (store) => ({
    ...store,
    async read(query, signal) {
      started.push(query.namespace);
      if (query.namespace === 'shop-prod') await hold.promise;
      return store.read(query, signal);
    },
  }));
  const query = queryParameters(everything).toString();
  const held = Array.from({ length: 11 }, () => read(query));
  const refused = await Promise.race(held);
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('retry-after'), '1');
  t.same(await texts(client, { namespace: 'blog-prod' }), []);
  t.same(started, ['shop-prod', 'shop-prod', 'blog-prod']);
  hold.resolve(undefined);
  const statuses = (await Promise.all(held)).map(({ status }) => status);
  t.equal(statuses.filter((status) => status === 200).length, 10);
});

t.test('a reader that leaves frees its place, and one that gets half an answer knows it', async (t) => {
  const { url, client } = await rig(t, (store) => ({
    ...store,
    async read(query, signal) {
      const { keptSince } = await store.read(query, signal);
      return {
        keptSince,
        // eslint-disable-next-line require-yield
        batches: (async function* () {
          yield [{ ...record('one', 1), id: 1 }];
          if (query.search === 'break') throw new Error('broken');
          await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
          return undefined;
        })(),
      };
    },
  }));
  await t.rejects(texts(client, { search: 'break' }));
  const query = queryParameters(everything).toString();
  for (let round = 0; round < 20; round++) {
    const stop = new AbortController();
    const answer = await fetch(`${url}/read?${query}`, {
      headers: { authorization: `Bearer ${readToken}` },
      signal: stop.signal,
    });
    t.equal(answer.status, 200);
    stop.abort();
    await answer.text().catch(() => undefined);
  }
});
