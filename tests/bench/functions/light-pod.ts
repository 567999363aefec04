import { createServer } from 'node:net';

/**
 * The server behind the measured proxies. It shares its core with the load and must not limit them, so it parses only
 * the end of a request's head, which is enough for a request without a body.
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
