import { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { mock } from 'node:test';
import t from 'tap';
import { z } from 'zod';
import { createBodyMemory } from '../../../runtime/http/body-memory.ts';
import { jsonOf, largeBodyLimit, parseJson, readBody, refuseNul } from '../../../runtime/http/body.ts';
import { settle } from '../../support/clock.ts';

const mebibyte = 1024 * 1024;
const nested = (levels: number) => Buffer.from(`${'['.repeat(levels)}${']'.repeat(levels)}`);

/** A connection that only knows whether it was closed. */
function connection() {
  const socket = Object.assign(new EventEmitter(), {
    destroyed: false,
    destroy: () => (socket.destroyed = true),
    end: () => undefined,
  });
  return socket;
}

/** A request that sends chunks of `size` bytes as long as they are read, at most `chunks`. */
function request(
  chunks: number,
  headers: IncomingMessage['headers'] = { 'transfer-encoding': 'chunked' },
  size = mebibyte,
) {
  let sent = 0;
  const source = Readable.from(
    (function* () {
      while (sent < chunks) {
        sent++;
        yield Buffer.alloc(size);
      }
    })(),
    { highWaterMark: 1 },
  );
  const socket = connection();
  return {
    request: Object.assign(source, { headers, socket }) as unknown as IncomingMessage,
    socket,
    sent: () => sent,
  };
}

const read = (from: IncomingMessage) =>
  readBody(from, createBodyMemory().place({ name: 'a', isKnown: false }), largeBodyLimit);

t.test('JSON is nested up to 64 levels deep', async (t) => {
  t.doesNotThrow(() => jsonOf(nested(64)));
  t.throws(() => jsonOf(nested(65)), {
    code: 'invalid_json',
    message: 'The body exceeds the limit of 64 nested levels.',
  });
  const wide = JSON.stringify(Array.from({ length: 100 }, () => [{}]));
  t.same(jsonOf(Buffer.from(wide)), JSON.parse(wide), 'closed levels do not count');
  const quoted = JSON.stringify({ text: `"${'['.repeat(100)}\\` });
  t.same(jsonOf(Buffer.from(quoted)), JSON.parse(quoted), 'nor do brackets in strings');
});

t.test('long texts are read as JSON has them, whatever they contain', async (t) => {
  const parts = ['x'.repeat(63), 'x'.repeat(64), 'x'.repeat(200), '"', '\\', '\\"', '['.repeat(70), '\n', 'ü', ''];
  for (const first of parts) {
    for (const second of parts) {
      for (const third of parts) {
        const text = first + second + third;
        const json = JSON.stringify({ [text]: [text, second, {}] });
        t.same(jsonOf(Buffer.from(json)), JSON.parse(json), text);
        const deep = `[${JSON.stringify(text)},${'['.repeat(64)}${']'.repeat(64)}]`;
        t.throws(() => jsonOf(Buffer.from(deep)), { message: /64 nested levels/ }, text);
      }
    }
  }
  for (const unfinished of [`"${'x'.repeat(300)}`, `"${'x'.repeat(64)}\\`, `["${'x'.repeat(64)}\\"]`])
    t.throws(() => jsonOf(Buffer.from(unfinished)), { message: /not valid JSON/ });
});

t.test('JSON has up to 100,000 values', async (t) => {
  const list = (values: number) => Buffer.from(JSON.stringify(Array.from({ length: values }, () => ({}))));
  t.doesNotThrow(() => jsonOf(list(49_000)));
  t.throws(() => jsonOf(list(50_000)), { code: 'invalid_json', message: /100000 values/ });
  t.doesNotThrow(() => jsonOf(Buffer.from(JSON.stringify(','.repeat(200_000)))), 'commas in strings do not count');
});

t.test('a NUL character is refused wherever it is', async (t) => {
  const parse = (json: string, options?: { allowNul: boolean }) =>
    parseJson(z.unknown(), Buffer.from(json), 'application/json', options);
  const refusal = { code: 'invalid_request', status: 400 };
  for (const json of ['"\\u0000"', '{"a":["b\\u0000"]}', '{"\\u0000":1}', '"\\\\\\u0000"']) {
    t.throws(() => parse(json), refusal, json);
    t.same(parse(json, { allowNul: true }), JSON.parse(json));
  }
  for (const json of ['"\\\\u0000"', '"\\u00001"'.replace('00001', '0011'), '"u0000"'])
    t.same(parse(json), JSON.parse(json));
  t.throws(() => refuseNul({ a: 'b', c: ['d', '\0'] }, 'query'), refusal);
  t.throws(() => refuseNul({ 'a\0': 'b' }, 'query'), refusal);
  t.same(refuseNul({ a: 'b', c: ['d'] }, 'query'), { a: 'b', c: ['d'] });
});

t.test('a body of tiny chunks takes no more memory than one of large ones', async (t) => {
  const memory = createBodyMemory();
  const chunks = Array.from({ length: 10_000 }, (_, index) => Buffer.from([index & 255]));
  const source = Object.assign(Readable.from(chunks), { headers: {} }) as unknown as IncomingMessage;
  const body = await readBody(source, memory.place({ name: 'a', isKnown: false }));
  t.equal(body.length, 10_000);
  t.ok(body.equals(Buffer.concat(chunks)));
  t.ok(memory.bytes() <= 20_000, `${memory.bytes()}`);
});

t.test('a body has at most 1 MiB', async (t) => {
  t.equal((await read(request(1).request)).length, mebibyte);
  const message = 'The request body exceeds the limit of 1048576 bytes.';
  await t.rejects(read(request(1, {}, mebibyte + 1).request), { code: 'body_too_large', message });
});

/** Waits until a request is read to its end, or no more. */
async function endOf({ request: source }: ReturnType<typeof request>): Promise<void> {
  while (!source.isPaused() && !source.readableEnded) await settle();
}

t.test('a body that is too large is refused at once, and read up to 8 MiB for five seconds', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const announced = (chunks: number) => request(chunks, { 'content-length': String(chunks * mebibyte) });
  const slow = announced(20);
  await t.rejects(read(slow.request), { code: 'body_too_large' });
  t.ok(slow.sent() <= 1, 'before it arrives');
  slow.request.pause();
  mock.timers.tick(4_999);
  t.notOk(slow.socket.destroyed);
  mock.timers.tick(1);
  t.ok(slow.socket.destroyed, 'a slow client has five seconds');
  for (const [name, create, most] of [
    ['announced', announced, 10],
    ['chunked', (chunks: number) => request(chunks), 12],
  ] as const) {
    const endless = create(20);
    await t.rejects(read(endless.request), { code: 'body_too_large' });
    await endOf(endless);
    t.ok(endless.sent() <= most, `${name}: the ninth MiB ends the reading; the stream reads ahead`);
    mock.timers.tick(1_999);
    t.notOk(endless.socket.destroyed);
    mock.timers.tick(1);
    t.ok(endless.socket.destroyed, `${name}: a client that goes on sending loses its connection`);

    const short = create(8);
    await t.rejects(read(short.request), { code: 'body_too_large' });
    await endOf(short);
    t.equal(short.sent(), 8);
    mock.timers.tick(5_000);
    t.notOk(short.socket.destroyed, `${name}: one that has sent all keeps it`);

    const closed = create(20);
    await t.rejects(read(closed.request), { code: 'body_too_large' });
    closed.socket.emit('close');
    mock.timers.tick(5_000);
    t.notOk(closed.socket.destroyed, `${name}: it is closed already`);
  }
});

t.test('a large refused body counts for two seconds, also when it ends sooner; a small one does not', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const { discards } = createBodyMemory({ reading: 1 });
  const begin = (bytes: number) => {
    const source = request(1, { 'content-length': String(bytes) }, bytes);
    discards.discard(source.request);
    return source;
  };
  const first = begin(mebibyte);
  await endOf(first);
  t.ok(begin(mebibyte).request.isPaused(), 'left unread');
  t.notOk(begin(1000).request.isPaused());
  mock.timers.tick(2_000);
  const next = begin(mebibyte);
  t.notOk(next.request.isPaused());
  discards.discard(next.request);
  discards.leave(next.request);
  t.notOk(next.request.isPaused(), 'decided once');
  mock.timers.tick(2_000);
  t.ok(begin(mebibyte).request.isPaused(), 'one that has not ended still counts');
});

t.test('a compressed body is refused before it is read', async (t) => {
  const compressed = request(1, { 'content-encoding': 'gzip' });
  await t.rejects(read(compressed.request), { code: 'unsupported_media_type' });
  t.equal(compressed.sent(), 0);
  t.equal((await read(request(1, { 'content-encoding': 'identity' }).request)).length, mebibyte);
});
