// `import` would evaluate every export, including undici, and double the startup time.
const { createServer } = process.getBuiltinModule('node:http');
const { hostname } = process.getBuiltinModule('node:os');

/** Extra response headers, such as {"x-frame-options":"DENY"}. */
const ownHeaders = Object.entries(JSON.parse(process.env.RESPONSE_HEADERS ?? '{}'));

const server = createServer((request, response) => {
  if (!server.listening) response.setHeader('connection', 'close');
  for (const [name, value] of ownHeaders) response.setHeader(name, value);
  if (request.url === '/healthz') {
    response.end('ok\n');
    return;
  }
  const body = {
    app: 'hello',
    version: process.env.VERSION ?? 'v1',
    host: hostname(),
    method: request.method,
    url: request.url,
    headers: request.headers,
  };
  response.setHeader('content-type', 'application/json');
  response.end(`${JSON.stringify(body)}\n`);
});

// Longer than the ingress keeps idle connections, so that this side never closes one that a request is using.
server.keepAliveTimeout = 120_000;
// As a cron function, it runs once and exits.
if (process.env.SVC_MODE === 'batch')
  process.stdout.write(`${process.env.VERSION ?? 'v1'} ran by ${process.env.SVC_TRIGGER}\n`);
else server.listen(Number(process.env.PORT ?? 8080));

process.on('SIGTERM', () => {
  server.close(() => process.exit(0));
  server.closeIdleConnections();
});
