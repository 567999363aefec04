import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import t from 'tap';
import { WebSocket, WebSocketServer } from 'ws';
import { runSession } from '../../cli/exec-session.ts';
import { channelMessage, execChannels } from '../../runtime/contracts/exec-channels.ts';

t.test('a full output is waited for once, however many messages follow, and gets all of them', async (t) => {
  const messages = 40;
  const server = new WebSocketServer({ host: '127.0.0.1', port: 0 });
  t.teardown(() => server.close());
  server.once('connection', (socket) => {
    for (let count = 0; count < messages; count++) socket.send(channelMessage(execChannels.stdout, 'x'));
    socket.send(channelMessage(execChannels.error, JSON.stringify({ status: 'Success' })));
    socket.close();
  });
  await once(server, 'listening');
  let received = '';
  const held: (() => void)[] = [];
  let isHeld = true;
  const release = () => {
    isHeld = false;
    for (const done of held) done();
  };
  const stdout = new Writable({
    highWaterMark: 1,
    write(chunk: Buffer, _encoding, done) {
      received += chunk.toString();
      if (isHeld) held.push(done);
      else done();
    },
  });
  let most = 0;
  stdout.on('newListener', (name) => {
    if (name !== 'drain') return;
    most = Math.max(most, stdout.listenerCount('drain') + 1);
    setImmediate(release);
  });
  const socket = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const end = await runSession(socket, { stdout, stderr: stdout, terminal: false });
  t.match(end, { exitCode: 0 });
  t.equal(received.length, messages);
  t.equal(most, 1);
});
