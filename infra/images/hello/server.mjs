import { createServer } from 'node:http';
import { hostname } from 'node:os';

const server = createServer((request, response) => {
  if (request.url === '/healthz') {
    response.end('ok\n');
    return;
  }
  const body = {
    app: 'hello',
    version: process.env.VERSION ?? 'v1',
    pod: hostname(),
    method: request.method,
    url: request.url,
    headers: request.headers,
  };
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify(body)}\n`);
});

// Longer than the ingress keeps a connection idle, so that it is never this side that closes under a request.
server.keepAliveTimeout = 120_000;
server.listen(Number(process.env.PORT ?? 8080));

process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
