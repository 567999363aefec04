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

t.test('what was read from a pod at once is sent in one write, in messages of at most 16 KiB', async (t) => {
  const content = randomBytes(1024 * 1024);
  const pod = createServer((socket) => socket.end(content)).listen(0, '127.0.0.1');
  await once(pod, 'listening');
  t.teardown(() => pod.close());

  const writes: Buffer[][] = [];
  const connection = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      writes.push([Buffer.from(chunk)]);
      done();
    },
    writev: (chunks, done) => {
      writes.push(chunks.map(({ chunk }) => Buffer.from(chunk as Buffer)));
      done();
    },
  });
  const client = await new Promise<WebSocket>((resolve) => {
    new WebSocketServer({ noServer: true }).handleUpgrade(handshake, connection, Buffer.alloc(0), resolve);
  });
  writes.length = 0;
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
  const relayed = relayTcp({ client, connection }, { socket, reader }, { idleMs: 60_000, clock: systemClock });
  // As after the client has ended its direction, too.
  socket.once('end', () => socket.end());
  socket.resume();
  t.match(await relayed, { by: 'pod', receivedBytes: content.length });

  // Each message is a header and its content; the text message at the end and the close frame are not of the pod.
  const messages = writes.map((write) => write.filter((_, index) => index % 2 === 1)).slice(0, reads.length);
  t.ok(Buffer.concat(messages.flat()).equals(content));
  t.same(
    messages.map((write) => Buffer.concat(write).length),
    reads,
  );
  t.ok(messages.flat().every(({ length }) => length <= 16 * 1024));
  client.terminate();
});
