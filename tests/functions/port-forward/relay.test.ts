import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, createServer, type AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import t from 'tap';
import { WebSocketServer, type WebSocket } from 'ws';
import { createPodReader } from '../../../functions/port-forward/pod-reader.ts';
import { relayTcp } from '../../../functions/port-forward/relay.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';

const handshake = {
  method: 'GET',
  headers: {
    upgrade: 'websocket',
    connection: 'Upgrade',
    'sec-websocket-version': '13',
    'sec-websocket-key': randomBytes(16).toString('base64'),
  },
} as unknown as IncomingMessage;

t.test(
  'what was read from a pod at once is sent in one message, and memory is used again after it was sent',
  async (t) => {
    const content = randomBytes(4 * 1024 * 1024);
    const pod = createServer((socket) => socket.end(content)).listen(0, '127.0.0.1');
    await once(pod, 'listening');
    t.teardown(() => pod.close());

    const writes: Buffer[][] = [];
    const memory = new Set<unknown>();
    /** A connection that needs the memory of a write until later, as a busy kernel does. */
    const connection = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => finish([chunk], done),
      writev: (chunks, done) =>
        finish(
          chunks.map(({ chunk }) => chunk as Buffer),
          done,
        ),
    });
    const finish = (chunks: Buffer[], done: () => void) =>
      setImmediate(() => {
        writes.push(chunks.map((chunk) => Buffer.from(chunk)));
        for (const { length, buffer } of chunks) if (length > 1024) memory.add(buffer);
        done();
      });
    const client = await new Promise<WebSocket>((resolve) => {
      new WebSocketServer({ noServer: true }).handleUpgrade(handshake, connection, Buffer.alloc(0), resolve);
    });
    const reader = createPodReader();
    const { port } = pod.address() as AddressInfo;
    const reads: number[] = [];
    const onread: typeof reader.onread = {
      ...reader.onread,
      callback(length, read) {
        reads.push(length);
        return reader.onread.callback(length, read);
      },
    };
    const socket = connect({ port, host: '127.0.0.1', onread, allowHalfOpen: true }).pause();
    await once(socket, 'connect');
    const relayed = relayTcp(client, { socket, reader }, { idleMs: 60_000, clock: systemClock });
    // As after the client has ended its direction, too.
    socket.once('end', () => socket.end());
    socket.resume();
    t.match(await relayed, { by: 'pod', receivedBytes: content.length });
    while (connection.writableLength > 0) await new Promise((resolve) => setImmediate(resolve));

    // Of each message the header and the content; before them the handshake, after them the text message and the close frame.
    const contents = writes
      .flat()
      .slice(1)
      .filter((_, index) => index % 2 === 1)
      .slice(0, reads.length);
    t.ok(Buffer.concat(contents).equals(content));
    t.same(
      contents.map(({ length }) => length),
      reads,
    );
    t.ok(memory.size <= 8, `${memory.size} buffers for ${reads.length} reads`);
    client.terminate();
  },
);
