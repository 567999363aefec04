import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import t from 'tap';
import { encodeLines } from '../../workers/log-drain/encode.ts';
import { deliver, pageRequests, type Receiver } from '../../workers/log-drain/receiver.ts';
import type { FedLine } from '../../runtime/logs/feed.ts';
import { record, startStore } from '../runtime/logs/rig.ts';
import { eventually } from '../support/platform.ts';
import { startLogReceiver } from '../support/log-receiver.ts';
import { drainWorld } from '../workers/log-drain/drain-world.ts';

/*
 * The receiver of the log drain is chosen by an admin, and can be broken or taken over. It must not reach other addresses,
 * take memory or time without a limit, or stop the log store. The lines are those of tenants.
 */

const loopback = ['127.0.0.0/8'];
const { signal } = new AbortController();
const line: FedLine = { ...record('hello', 1), id: 1 };
const receiver = (url: string, options: Partial<Receiver> = {}): Receiver => ({
  url,
  format: 'otlp',
  headers: { authorization: 'Bearer very-secret' },
  networks: loopback,
  timeoutMs: 30_000,
  ...options,
});

const parseLine = (text: string) => JSON.parse(text) as { line: string; namespace: string };

t.test('an answer without an end, and one that never begins, take bounded time and memory', async (t) => {
  let written = 0;
  let closed = 0;
  const pour = (response: ServerResponse) => {
    while (!response.destroyed) {
      written += 64 * 1024;
      if (!response.write(Buffer.alloc(64 * 1024, 'x'))) break;
    }
    response.once('drain', () => pour(response));
  };
  const server = createServer((request, response) => {
    request.resume();
    response.on('close', () => (closed += 1));
    if (request.url === '/silent') return;
    response.writeHead(request.url === '/endless' ? 200 : 503);
    if (request.url === '/endless') pour(response);
    else response.write('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.same(await deliver(receiver(`${url}/endless`), [line], signal), { sent: 1, refused: 0, error: undefined });
  t.match(await deliver(receiver(`${url}/drip`, { timeoutMs: 5_000 }), [line], signal), {
    failure: 'the receiver responded with 503',
  });
  t.match(await deliver(receiver(`${url}/silent`, { timeoutMs: 500 }), [line], signal), {
    failure: 'no response within 0.5 seconds',
  });
  await eventually(
    () => Promise.resolve(closed),
    (count) => count === 3,
  );
  t.ok(written < 64 * 1024 * 1024, 'the connection of the endless answer is closed');
});

t.test('redirects are not followed, whatever their status', async (t) => {
  const other = await startLogReceiver(t);
  const first = await startLogReceiver(t);
  for (const status of [301, 302, 303, 307, 308]) {
    first.answer = (response) => response.writeHead(status, { Location: other.url }).end();
    t.match(await deliver(receiver(first.url), [line], signal), {
      failure: `the receiver responded with ${status}; redirects are not followed`,
    });
  }
  t.same(other.received, []);
});

t.test('neither a name nor an address leads into a private network that the admin did not name', async (t) => {
  const victim = await startLogReceiver(t);
  for (const host of ['127.0.0.1', '[::ffff:127.0.0.1]', '0x7f000001', 'localhost']) {
    const result = await deliver(
      receiver(`http://${host}:${victim.port}/`, { networks: ['10.0.0.0/8'] }),
      [line],
      signal,
    );
    t.match(result, { failure: /is in a private network/ }, host);
    t.notMatch(JSON.stringify(result), /very-secret/);
  }
  // The name changes to a private address after the drain was set.
  const lookup: Receiver['lookup'] = (_host, _options, callback) =>
    callback(null, [{ address: '127.0.0.1', family: 4 }]);
  const renamed = receiver(`http://loki.example.com:${victim.port}/`, { networks: [], lookup });
  t.match(await deliver(renamed, [line], signal), { failure: /is in a private network/ });
  t.same(victim.received, []);
});

t.test('an answer that lies about rejected lines changes no count below zero or above the batch', async (t) => {
  const liar = await startLogReceiver(t);
  for (const [count, refused] of [
    ['-5', 0],
    ['"1e9"', 1],
    ['1e400', 0],
    ['{}', 0],
    ['"9007199254740993"', 0],
  ] as const) {
    liar.answer = (response) => response.writeHead(200).end(`{"partialSuccess":{"rejectedLogRecords":${count}}}`);
    t.match(await deliver(receiver(liar.url), [line], signal), { sent: 1 - refused, refused }, count);
  }
  for (const body of ['null', '[]', '{"partialSuccess":null}', '{', '']) {
    liar.answer = (response) => response.writeHead(200).end(body);
    t.match(await deliver(receiver(liar.url), [line], signal), { sent: 1, refused: 0 }, body);
  }
});

t.test('lines of tenants cannot leave their place in a request', (t) => {
  const odd = ['"}]}', '\n{"namespace":"other"}\n', '\u2028', '\ud800', '\0', '</script>'];
  const lines = odd.map((text, id) => ({ ...line, id, line: text }));
  const { body } = encodeLines('json', lines);
  t.same(
    body
      .trim()
      .split('\n')
      .map((text) => (JSON.parse(text) as { line: string; namespace: string }).namespace),
    odd.map(() => 'shop-prod'),
  );
  for (const format of ['loki', 'otlp'] as const)
    t.doesNotThrow(() => JSON.parse(encodeLines(format, lines).body) as unknown);
  t.end();
});

t.test('lines that a receiver refuses cost no line of another tenant', async (t) => {
  const world = await drainWorld(t);
  await world.set('json');
  await world.step();
  const others = new Set<string>();
  world.receiver.answer = (response, { body }) => {
    const isBad = body.includes('bad');
    if (!isBad) {
      for (const { namespace, line: text } of body.trim().split('\n').map(parseLine)) {
        if (namespace !== 'shop-prod') others.add(`${namespace} ${text}`);
      }
    }
    response.writeHead(isBad ? 400 : 204).end();
  };
  // Every other line is bad, between those of quiet tenants, before and after it in the order of names.
  const names = ['blog-prod', 'mail-prod', 'zoo-prod'];
  const records = Array.from({ length: 600 }, (_, index) => [
    record(index % 2 === 0 ? 'bad' : 'good', index),
    ...(index % 20 === 0 ? names.map((namespace) => record(`line ${index}`, index, { namespace })) : []),
  ]).flat();
  await world.store.append({ records });
  await world.step();
  t.equal(others.size, 90);
  t.ok(world.receiver.received.length <= pageRequests);
  const { sentLines, refusedLines, pendingLines } = await world.current();
  t.equal(sentLines + refusedLines, records.length);
  t.equal(pendingLines, 0);
});

t.test(
  'a receiver that refuses everything, slowly or within its limit, does not keep the drain at a page',
  async (t) => {
    const refuser = await startLogReceiver(t);
    const lines = Array.from({ length: 4_096 }, (_, id) => ({ ...line, id }));
    refuser.answer = (response) => response.writeHead(413).end();
    const refused = { sent: 0, refused: 4_096, error: 'the receiver responded with 413' };
    t.same(await deliver(receiver(refuser.url, { timeoutMs: 15_000 }), lines, signal), refused);
    t.ok(refuser.received.length <= pageRequests);

    refuser.received.length = 0;
    refuser.answer = (response) => void setTimeout(() => response.writeHead(413).end(), 150);
    t.same(await deliver(receiver(refuser.url, { timeoutMs: 1_500 }), lines, signal), refused);
    t.ok(refuser.received.length < 30, 'it ends after twice the time of a request');

    const world = await drainWorld(t);
    await world.set('json');
    await world.step();
    let count = 0;
    world.receiver.answer = (response) => response.writeHead(++count > 3 ? 429 : 400).end();
    await world.store.append({ records: Array.from({ length: 500 }, (_, index) => record('bad', index)) });
    const attempts = async () => {
      count = 0;
      await world.step();
      return world.current();
    };
    t.match(await attempts(), { failures: 1, error: 'the receiver responded with 429' });
    const last = await eventually(attempts, ({ pendingLines }) => pendingLines === 0);
    t.match(last, { failures: 0, sentLines: 0, refusedLines: 500 });
  },
);

t.test('no text of a tenant makes JSON that a strict parser refuses', async (t) => {
  const store = await startStore(t);
  const world = await drainWorld(t, { store });
  await world.set('json');
  await world.step();
  const cut = `${'x'.repeat(256 * 1024 - 1)}\u{1f600}`;
  const records = ['\ud83d alone', 'alone \ude00', 'whole \u{1f600}', cut].map((text, index) => record(text, index));
  await store.append({ records });
  await world.step();
  t.equal(world.receiver.lines().length, 4);
  t.ok(world.receiver.lines().every(({ line: text }) => text.isWellFormed()));
  t.equal(world.receiver.lines()[2]?.line, 'whole \u{1f600}');
});

t.test('pages are bounded, however long the lines of a tenant are, and another tenant’s are sent, too', async (t) => {
  const store = await startStore(t, { bufferLength: 100_000_000 });
  const world = await drainWorld(t, { store });
  await world.set('json');
  await world.step();
  const long = 'x'.repeat(256 * 1024);
  for (let batch = 0; batch < 4; batch++) {
    await store.append({ records: Array.from({ length: 16 }, (_, index) => record(long, index)) });
  }
  await store.append({ records: [record('quiet', 1, { namespace: 'blog-prod' })] });
  const sent = await eventually(
    async () => {
      await world.step();
      return world.receiver.lines();
    },
    ({ length }) => length === 65,
  );
  t.match(sent.at(-1), { line: 'quiet', namespace: 'blog-prod' });
  t.ok(world.receiver.received.every(({ body }) => body.length < 2 * 1024 * 1024));
});

t.test('a drain that fails keeps neither appends nor readings of the store waiting', async (t) => {
  const world = await drainWorld(t, { timeoutMs: 100 });
  await world.set('json');
  await world.step();
  world.receiver.answer = () => undefined;
  await world.store.append({ records: [record('one', 1)] });
  const step = world.step();
  for (let count = 0; count < 50; count++) await world.store.append({ records: [record('more', count)] });
  await step;
  t.match(await world.current(), { error: 'no response within 0.1 seconds', sentLines: 0 });
  t.notMatch(JSON.stringify(world.entries()), /one|more/, 'lines are not logged');
});
