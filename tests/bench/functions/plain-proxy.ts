import { Agent, createServer, request as httpRequest } from 'node:http';

/** The yardstick for the interceptor: the simplest proxy with `node:http` and its Agent, for the pod at `POD_PORT`. */
const agent = new Agent({ keepAlive: true });
const server = createServer((request, response) => {
  const upstream = httpRequest({
    agent,
    host: '127.0.0.1',
    port: Number(process.env['POD_PORT']),
    method: request.method,
    path: request.url,
    headers: request.headers,
  });
  upstream.once('response', (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
    answer.pipe(response);
  });
  upstream.once('error', () => response.destroy());
  request.pipe(upstream);
});

server.listen(Number(process.env['PORT']), '127.0.0.1');
