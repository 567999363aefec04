import { createServer } from 'node:net';

/**
 * What stands behind the proxies under measurement: it shares its core with the load, and must not be what limits them. So
 * it reads no more of a request than where its head ends, which is enough for one without a body.
 */
const answer = Buffer.from('HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 0\r\n\r\n');
const headEnd = '\r\n\r\n';

const server = createServer((socket) => {
  let rest = '';
  socket.setNoDelay(true);
  socket.on('data', (chunk) => {
    rest += chunk.toString('latin1');
    for (let end = rest.indexOf(headEnd); end !== -1; end = rest.indexOf(headEnd)) {
      rest = rest.slice(end + headEnd.length);
      socket.write(answer);
    }
  });
  socket.on('error', () => socket.destroy());
});

server.listen(Number(process.env['PORT']), '127.0.0.1');
