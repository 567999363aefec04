import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import { Socket, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import t, { type Test } from 'tap';
import { createAddressMatcher } from '../../runtime/domain/address.ts';
import { send } from '../../runtime/process/outgoing-request.ts';

/** A user who adds a notification chooses where the platform connects to. It must not reach a private address. */
const root = join(import.meta.dirname, '../..');

/** A server of another tenant, on loopback. */
async function victim(t: Test): Promise<{ port: number; requests: () => number }> {
  let requests = 0;
  const server = createServer((_, response) => {
    requests++;
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.teardown(() => server.close());
  return { port: (server.address() as AddressInfo).port, requests: () => requests };
}

t.test('on the embedded default, the name of a Service of another tenant is refused', async (t) => {
  const { port, requests } = await victim(t);
  const folder = t.testdir({
    hosts: `127.0.0.1 web.victim-prod\n127.0.0.1:${port} web.victim-prod:80\n`,
    'send.ts': `import { createAddressMatcher } from '${root}/runtime/domain/address.ts';
import { send } from '${root}/runtime/process/outgoing-request.ts';
const message = { headers: {}, body: '{}', allowed: createAddressMatcher([]), blocked: 'is private', timeoutMs: 20_000 };
for (const url of ['http://web.victim-prod.svc/', 'http://web.victim-prod/', 'http://WEB.victim-prod.svc.cluster.local./']) {
  console.log(JSON.stringify(await send({ url, ...message, signal: new AbortController().signal })));
}`,
  });
  const env = { ...process.env, SVC_HOSTS_FILE: join(folder, 'hosts'), SVC_NAMESPACE: 'mallory-prod' };
  const preload = join(root, 'infra/local/node/preload.cjs');
  const { stdout } = await promisify(execFile)(process.execPath, ['--require', preload, join(folder, 'send.ts')], {
    env,
  });
  const results = stdout.trim().split('\n');
  t.equal(results.length, 3);
  for (const result of results) t.match(result, / is private/);
  t.equal(requests(), 0);
});

t.test('a connection that ends up elsewhere than the name said sends nothing', async (t) => {
  const { port, requests } = await victim(t);
  const connect = Reflect.get(Socket.prototype, 'connect');
  // Whatever redirects connections below us: a proxy, or the embedded default's node.
  t.intercept(Socket.prototype, 'connect', {
    value(this: Socket) {
      return Reflect.apply(connect, this, [{ host: '127.0.0.1', port }]);
    },
  });
  const result = await send({
    url: 'http://receiver.example.com/',
    headers: {},
    body: '{}',
    allowed: createAddressMatcher([]),
    blocked: 'is private',
    timeoutMs: 20_000,
    signal: new AbortController().signal,
    lookup: (_host, _options, callback) => callback(null, [{ address: '93.184.215.14', family: 4 }]),
  });
  t.match(result, { fault: /is private/ });
  t.equal(requests(), 0);
});
