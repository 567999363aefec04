import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t, { type Test } from 'tap';
import { openDataSocket, RefusedSocket } from '../../cli/web-socket.ts';

const binary = 0x82;
const text = 0x81;
const done = Buffer.of(0x88, 2, 0x03, 0xe8);

/** A frame as a server sends it. */
function frame(first: number, content: Buffer): Buffer {
  const { length } = content;
  const header = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10);
  header[0] = first;
  if (length < 126) header[1] = length;
  else if (length < 65_536) header.writeUInt16BE(length, header.writeUInt8(126, 1));
  else header.writeBigUInt64BE(BigInt(length), header.writeUInt8(127, 1));
  return Buffer.concat([header, content]);
}

/** A server that accepts a WebSocket and then sends `pieces`, the first together with the response. */
async function serve(t: Test, pieces: readonly Buffer[], status = '101 Switching Protocols'): Promise<URL> {
  const server = createServer({ noDelay: true }, (socket: Socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (request) => {
      const [, key = ''] = /sec-websocket-key: (.*)\r\n/i.exec(request.toString()) ?? [];
      const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
      const head = `HTTP/1.1 ${status}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: test\r\n\r\n`;
      void (async () => {
        for (const [index, piece] of pieces.entries()) {
          socket.write(index === 0 ? Buffer.concat([Buffer.from(head), piece]) : piece);
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
    });
    t.teardown(() => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

/** What arrives until the WebSocket closes. */
async function receive(t: Test, pieces: readonly Buffer[]) {
  const { socket, content } = await openDataSocket(await serve(t, pieces), 'test', {});
  t.teardown(() => socket.terminate());
  const received: Buffer[] = [];
  const events: string[] = [];
  socket.on('message', (data: Buffer, isBinary) => events.push(`${isBinary ? 'binary' : 'text'} ${data.toString()}`));
  socket.on('ping', (data) => events.push(`ping ${data.toString()}`));
  socket.on('error', ({ message }) => events.push(message));
  const closed = new Promise<number>((resolve) => void socket.once('close', resolve));
  socket.resume();
  content.start((parts, release) => {
    if (events.length === 0 || events.at(-1) !== 'content') events.push('content');
    received.push(...parts.map((part) => Buffer.from(part)));
    release();
  });
  const code = await closed;
  return { content: Buffer.concat(received), events, code };
}

t.test('content arrives whole and in order, however the frames and reads are cut', async (t) => {
  const contents = [0, 1, 125, 126, 65_535, 65_536, 300_000].map((length) => randomBytes(length));
  const stream = Buffer.concat([
    ...contents.map((content) => frame(binary, content)),
    frame(text, Buffer.from('end')),
    done,
  ]);
  const cuts: Buffer[][] = [
    [stream],
    [Buffer.alloc(0), stream],
    Array.from(stream.subarray(0, 300), (byte) => Buffer.of(byte)),
  ];
  cuts[2]?.push(stream.subarray(300));
  for (const pieces of cuts) {
    const { content, events, code } = await receive(t, pieces);
    t.ok(content.equals(Buffer.concat(contents)), `${pieces.length} pieces`);
    t.same(events, ['content', 'text end'], 'the text comes after the content that was sent before it');
    t.equal(code, 1000);
  }
});

t.test('a message in fragments with a ping between them, and a text message in fragments', async (t) => {
  const { content, events } = await receive(t, [
    frame(0x02, Buffer.from('ab')),
    frame(0x89, Buffer.from('ping')),
    frame(0x00, Buffer.from('cd')),
    frame(0x80, Buffer.from('ef')),
    frame(0x01, Buffer.from('e')),
    frame(0x80, Buffer.from('nd')),
    done,
  ]);
  t.equal(content.toString(), 'abcdef');
  t.same(
    events.filter((event) => event !== 'content'),
    ['ping ping', 'text end'],
  );
});

t.test('frames that break the protocol close the WebSocket', async (t) => {
  const masked = Buffer.of(binary, 0x81, 1, 2, 3, 4, 5);
  const reserved = Buffer.of(binary | 0x40, 1, 5);
  for (const [broken, message] of [
    [masked, /MASK must be clear/],
    [reserved, /RSV1 must be clear/],
  ] as const) {
    const { content, events } = await receive(t, [frame(binary, Buffer.from('a')), broken]);
    t.equal(content.toString(), 'a');
    t.match(events.at(-1), message);
  }
});

t.test('memory is read into again once it is not needed, and not before', async (t) => {
  const contents = Array.from({ length: 20 }, () => randomBytes(100_000));
  const pieces = [...contents.map((content) => frame(binary, content)), done];
  for (const isNeeded of [true, false]) {
    const { socket, content } = await openDataSocket(await serve(t, pieces), 'test', {});
    const kept: Buffer[] = [];
    const memory = new Set<ArrayBufferLike>();
    const closed = once(socket, 'close');
    socket.resume();
    content.start((parts, release) => {
      kept.push(...parts);
      for (const { buffer, length } of parts) if (length > 10_000) memory.add(buffer);
      // As after a write that the kernel took at once, and one that takes longer.
      if (!isNeeded) setImmediate(release);
    });
    await closed;
    if (isNeeded) t.ok(Buffer.concat(kept).equals(Buffer.concat(contents)));
    else t.ok(memory.size < 6, `${memory.size} buffers`);
  }
});

t.test('a refusal has its status and content', async (t) => {
  const address = await serve(t, [Buffer.from('{"code":"invalid_value"}')], '422 No\r\nContent-Length: 24');
  await t.rejects(openDataSocket(address, 'test', {}), new RefusedSocket(422, '{"code":"invalid_value"}'));
});

t.test('a server that hangs up during the handshake is an error', async (t) => {
  const server = createServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { port } = server.address() as AddressInfo;
  await t.rejects(openDataSocket(new URL(`http://127.0.0.1:${port}/`), 'test', {}), /socket hang up/);
});
