import { createServer } from 'node:http';

/** The yardstick for the gate: the minimum that node:http can do for the same requests. */
const server = createServer((_request, response) => {
  response.writeHead(200, ['Cache-Control', 'no-store', 'Content-Length', '0']).end();
});

server.listen(Number(process.env['PORT']), '127.0.0.1');
