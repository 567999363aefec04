import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import t from 'tap';
import { jsonOf, readBody } from '../../../runtime/http/body.ts';

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

t.test('a body has at most 1 MiB', async (t) => {
  t.equal((await readBody(request(1).request)).length, mebibyte);
  const message = 'The request body exceeds the limit of 1048576 bytes.';
  await t.rejects(readBody(request(1, {}, mebibyte + 1).request), { code: 'body_too_large', message });
});

t.test('a body that is too large is read up to 8 MiB, so that the client gets the response', async (t) => {
  const short = request(8);
  await t.rejects(readBody(short.request), { code: 'body_too_large' });
  t.equal(short.sent(), 8);
  const endless = request(1_000);
  await t.rejects(readBody(endless.request), { code: 'body_too_large' });
  t.equal(endless.sent(), 9, 'the ninth MiB ends the reading');
});

t.test('a compressed body is refused before it is read', async (t) => {
  const compressed = request(1, { 'content-encoding': 'gzip' });
  await t.rejects(readBody(compressed.request), { code: 'unsupported_media_type' });
  t.equal(compressed.sent(), 0);
  t.equal((await readBody(request(1, { 'content-encoding': 'identity' }).request)).length, mebibyte);
});
