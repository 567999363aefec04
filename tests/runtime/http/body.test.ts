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

/** A request that sends chunks of `size` bytes as long as they are read, at most `chunks`. */
function request(chunks: number, headers: IncomingMessage['headers'] = {}, size = mebibyte) {
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
  return { request: Object.assign(source, { headers }) as unknown as IncomingMessage, sent: () => sent };
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

t.test('a body that is too large is read up to 8 MiB, so that the client gets the response', async (t) => {
  const short = request(8);
  await t.rejects(read(short.request), { code: 'body_too_large' });
  t.equal(short.sent(), 8);
  const endless = request(1_000);
  await t.rejects(read(endless.request), { code: 'body_too_large' });
  t.equal(endless.sent(), 10, 'the ninth MiB ends the reading; the stream reads one ahead');
});

t.test('a body that announces too much is refused at once, and read up to 8 MiB for five seconds', async (t) => {
  mock.timers.enable({ apis: ['setTimeout'] });
  t.teardown(() => mock.timers.reset());
  const announced = (chunks: number) => {
    const { request: source, sent } = request(chunks, { 'content-length': String(chunks * mebibyte) });
    const socket = Object.assign(new EventEmitter(), {
      isDestroyed: false,
      destroy: () => (socket.isDestroyed = true),
    });
    return { source: Object.assign(source, { socket }), socket, sent };
  };
  const endless = announced(20);
  await t.rejects(read(endless.source), { code: 'body_too_large' });
  t.ok(endless.sent() <= 1, 'before it arrives');
  while (!endless.source.isPaused() && !endless.source.readableEnded) await settle();
  t.equal(endless.sent(), 10, 'the ninth MiB ends the reading; the stream reads one ahead');
  mock.timers.tick(4_999);
  t.notOk(endless.socket.isDestroyed);
  mock.timers.tick(1);
  t.ok(endless.socket.isDestroyed, 'a client that goes on sending loses its connection');

  const short = announced(8);
  await t.rejects(read(short.source), { code: 'body_too_large' });
  while (!short.source.isPaused() && !short.source.readableEnded) await settle();
  t.equal(short.sent(), 8);
  mock.timers.tick(5_000);
  t.notOk(short.socket.isDestroyed, 'one that has sent all keeps it');

  const closed = announced(20);
  await t.rejects(read(closed.source), { code: 'body_too_large' });
  closed.socket.emit('close');
  mock.timers.tick(5_000);
  t.notOk(closed.socket.isDestroyed, 'it is closed already');
});

t.test('a compressed body is refused before it is read', async (t) => {
  const compressed = request(1, { 'content-encoding': 'gzip' });
  await t.rejects(read(compressed.request), { code: 'unsupported_media_type' });
  t.equal(compressed.sent(), 0);
  t.equal((await read(request(1, { 'content-encoding': 'identity' }).request)).length, mebibyte);
});
