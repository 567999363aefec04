import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import t from 'tap';
import { connectionFault, createConnections, lookupHost } from '../../cli/connection.ts';
import { app, sequence, world } from './world.ts';

const root = join(import.meta.dirname, '../..');

function lookup(host: string, all: boolean): Promise<unknown> {
  return new Promise((resolve) => {
    lookupHost(host, { all }, (error, address, family) => resolve([error, address, family]));
  });
}

t.test('names below localhost are this machine, without a resolver', async (t) => {
  t.same(await lookup('console.apps.localhost', true), [
    null,
    [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ],
    undefined,
  ]);
  t.same(await lookup('localhost', false), [null, '127.0.0.1', 4]);
  const [error] = (await lookup('notlocalhost.invalid', false)) as [NodeJS.ErrnoException];
  t.ok(error.code, 'others are looked up');
});

t.test('a connection that fails is explained', async (t) => {
  const { run } = await world(t);
  const silentServer = createServer().listen(0, '127.0.0.1');
  await once(silentServer, 'listening');
  const address = silentServer.address();
  const port = typeof address === 'object' ? address?.port : 0;
  silentServer.close();
  await once(silentServer, 'close');
  const refused = await run(['app', 'list', '--api', `http://x.localhost:${port}`]);
  t.equal(refused.code, 1);
  t.match(refused.stderr, /is unreachable: connection refused\. \(unreachable\)\nhint: check the address/);
  const unknown = await run(['app', 'list', '--api', 'https://console.invalid']);
  t.match(unknown.stderr, /unknown host name|host name lookup failed/);
});

t.test('a connection that a busy machine notices late does not count as a time-out', async (t) => {
  const server = createHttpServer((_, response) => response.end('here')).listen(0, '127.0.0.1');
  t.teardown(() => server.close());
  await once(server, 'listening');
  const connections = createConnections();
  t.teardown(() => connections.close());
  const { port } = server.address() as AddressInfo;
  const sent = connections.send(new URL(`http://console.apps.localhost:${port}`), { method: 'GET', headers: {} });
  await new Promise<void>((resolve) => process.nextTick(resolve));
  // Node looks at the clock before it notices that the connection is established.
  for (const until = performance.now() + 400; performance.now() < until;);
  t.equal(await text(await sent), 'here');
});

t.test('an answer that stops, and one that is not TLS, are explained', async (t) => {
  const server = createHttpServer((request, response) => {
    if (request.url === '/begun') response.write('{');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  // Long enough for the head of an answer on a busy machine.
  const connections = createConnections(1_000);
  t.teardown(() => connections.close());
  const get = (path: string, scheme = 'http') =>
    connections.send(new URL(`${scheme}://127.0.0.1:${port}${path}`), { method: 'GET', headers: {} });
  const faultOf = (work: Promise<unknown>) => work.then(() => 'none', connectionFault);
  t.equal(await faultOf(get('/never')), 'timed out');
  const begun = await get('/begun');
  t.equal(await faultOf(text(begun)), 'timed out');
  t.equal(await faultOf(get('/never', 'https')), 'the server does not use TLS; try http://');
});

t.test('a connection that is cut is retried for reads, never for changes', async (t) => {
  let connections = 0;
  const cutting = createServer((socket) => {
    connections++;
    socket.on('error', () => undefined);
    socket.once('data', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(cutting, 'listening');
  t.teardown(() => cutting.close());
  const address = cutting.address();
  const api = `http://x.localhost:${typeof address === 'object' ? address?.port : 0}`;
  const { run } = await world(t);
  t.match(await run(['app', 'list', '--api', api]), { code: 1, stderr: /connection reset/ });
  t.equal(connections, 3);
  connections = 0;
  t.match(await run(['app', 'webhook', 'enable', 'api', '--api', api]), { code: 1, stderr: /connection reset/ });
  t.equal(connections, 1);
});

t.test('an ingress that briefly has no backend is waited for; the platform’s own 503 is not', async (t) => {
  const path = 'GET /api/v1/projects/shop/apps';
  const { run, routes, seen } = await world(t, {
    [path]: sequence({ status: 503, body: 'no available server' }, { body: { items: [app] } }),
  });
  t.equal((await run(['app', 'list'])).code, 0);
  t.equal(seen.length, 2);
  seen.length = 0;
  const noBackend = { status: 503, body: 'no available server' };
  routes[path] = sequence(noBackend, noBackend, noBackend, noBackend, { body: { items: [app] } });
  t.equal((await run(['app', 'list'])).code, 0, 'it takes seconds to start');
  t.equal(seen.length, 5);
  seen.length = 2;
  routes[path] = noBackend;
  t.match(await run(['app', 'list']), {
    code: 1,
    stderr:
      /^error: http:\S+ is unavailable: its ingress answered 503\. \(http_503\)\nhint: the management API may be starting/,
  });
  seen.length = 2;
  routes[path] = { status: 503, body: { code: 'unavailable', message: 'Later.' } };
  t.match(await run(['app', 'list']), { code: 1, stderr: 'error: Later. (unavailable)\n' });
  t.equal(seen.length, 3);
});

t.test('answers of a server that is not the management API are named as such', async (t) => {
  const path = 'GET /api/v1/projects/shop/apps';
  const { run, routes } = await world(t, { [path]: { status: 404, body: '404 page not found' } });
  t.match(await run(['app', 'list']), {
    code: 1,
    stderr: /is not a management API: it answered 404.*\(http_404\)\nhint: check/,
  });
  routes[path] = { status: 301, headers: { location: 'https://elsewhere/' }, body: '' };
  t.match(await run(['app', 'list']), { code: 1, stderr: /redirects to https:\/\/elsewhere/ });
  routes[path] = { body: '<html>' };
  t.match(await run(['app', 'list']), { code: 1, stderr: /is not a management API: it answered 200/ });
  routes[path] = { body: { items: [{ name: 1 }] } };
  t.match(await run(['app', 'list']), { code: 1, stderr: /unknown response/ });
});

t.test('an error has its code, further issues and the request id', async (t) => {
  const path = 'GET /api/v1/projects/shop/apps';
  const { run, routes, seen } = await world(t, {
    [path]: {
      status: 400,
      body: {
        code: 'invalid_request',
        message: 'First.',
        details: {
          issues: [
            { path: 'a', message: 'x' },
            { path: 'b', message: 'y' },
          ],
        },
      },
    },
  });
  t.match(await run(['app', 'list']), { stderr: 'error: First. (invalid_request)\nhint: also b: y\n' });
  routes[path] = { status: 500, body: { code: 'internal', message: 'Failed.', details: { requestId: 'r1' } } };
  t.match(await run(['app', 'list']), { stderr: 'error: Failed. (internal)\nhint: request ID: r1\n' });
  t.equal(seen[0]?.headers.authorization, 'Bearer svcs_token');
  t.equal(seen[0]?.headers['user-agent'], 'svc/1.2.3');
});

t.test('the program itself: exit code, streams, and any Node that starts it', async (t) => {
  const { api } = await world(t);
  const env = { ...process.env, SVC_API: api, SVC_TOKEN: 'x', XDG_CONFIG_HOME: t.testdir() };
  const run = promisify(execFile);
  const help = await run(process.execPath, ['cli/svc.js', 'app', '--help'], { cwd: root, env });
  t.match(help.stdout, 'svc app <command>');
  t.equal(help.stderr, '');
  const failed = await run(process.execPath, ['cli/main.ts', 'app', 'list', '-p', 'none'], { cwd: root, env }).catch(
    (error: unknown) => error,
  );
  t.match(failed, { code: 1, stdout: '', stderr: /^error: There is no .* \(not_found\)$/m });
  const shim = await run('env', ['node', 'cli/svc.js', 'frob'], { cwd: root, env }).catch((error: unknown) => error);
  t.match(shim, { code: 2, stderr: /Unknown command "svc frob"/ });
});
