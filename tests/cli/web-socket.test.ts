import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import t from 'tap';
import { openWebSocket, RefusedSocket } from '../../cli/web-socket.ts';

t.test('a refused WebSocket leaves no connection, also where the server keeps it open', async (t) => {
  const body = '{"code":"invalid_value","message":"No."}';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () =>
      socket.write(`HTTP/1.1 422 Unprocessable Entity\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const connection = once(server, 'connection') as Promise<[Socket]>;
  const { port } = server.address() as AddressInfo;
  const opening = openWebSocket(new URL(`http://127.0.0.1:${port}/exec`), 'test', {});
  const [socket] = await connection;
  const closed = once(socket, 'close');
  await t.rejects(opening, new RefusedSocket(422, body));
  await closed;
  t.pass('the client has closed the connection');
});
