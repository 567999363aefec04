import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import t from 'tap';
import { migrate } from '../../runtime/db/migrate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { silentLog } from '../support/log.ts';
import { query } from '../support/postgres.ts';
import { freePort, testServers } from '../support/servers.ts';
import { declaredRoutes } from './all-routes.ts';

const main = join(import.meta.dirname, '../../functions/main.ts');

/** The process as its pod runs it, with a database of its own and an API server that does not answer. */
t.test('console-api starts, serves, and drains on SIGTERM', async (t) => {
  // Read first: the import takes long enough on a busy machine that an idle connection would be closed meanwhile.
  const { routes, root } = await declaredRoutes();
  const server = testServers().postgres.url;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(`${server}/postgres`, `CREATE DATABASE ${name}`);
  t.teardown(() => query(`${server}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  await migrate({ url: `${server}/${name}`, clock: systemClock, log: silentLog });

  const nobody = await freePort();
  const password = randomBytes(18).toString('base64url');
  const folder = t.testdir({
    password: `${password}\n`,
    'keys.json': JSON.stringify({ current: 'k1', keys: { k1: randomBytes(32).toString('base64') } }),
    kubeconfig: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'none', cluster: { server: `https://127.0.0.1:${nobody}` } }],
      users: [{ name: 'none', user: {} }],
      contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
      'current-context': 'none',
    }),
  });
  const [port, adminPort] = [await freePort(), await freePort()];
  const base = `http://127.0.0.1:${port}`;
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env['PATH'],
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      EVENTS_PORT: '0',
      DATABASE_URL: `${server}/${name}`,
      KUBECONFIG: join(folder, 'kubeconfig'),
      ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
      ADMIN_PASSWORD_FILE: join(folder, 'password'),
      BASE_URL: base,
    },
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  t.teardown(() => child.kill('SIGKILL'));
  let output = '';
  await new Promise<void>((resolve, reject) => {
    child.once('close', (code) => reject(new Error(`ended with ${code}: ${output}`)));
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('process started')) resolve();
    });
  });

  const ready = async () => (await fetch(`http://127.0.0.1:${adminPort}/ready`)).status;
  t.equal(await ready(), 200);
  t.equal((await fetch(`${base}/health`)).status, 200);
  t.equal((await fetch(`${base}/health/controllers`)).status, 503, 'no controller has reported');
  const document = (await (await fetch(`${base}/api/v1/openapi.json`)).json()) as { paths: Record<string, object> };
  const served = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.keys(item)
      .filter((key) => key !== 'servers')
      .map((method) => `${method.toUpperCase()} ${path}`),
  );
  const declared = [...root, ...routes].map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
  t.same(served.sort(), declared.sort(), 'every route of every folder');
  const login = await fetch(`${base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@svc.local', password }),
  });
  t.equal(login.status, 201);
  const { token } = (await login.json()) as { token: string };
  const projects = await fetch(`${base}/api/v1/projects`, { headers: { authorization: `Bearer ${token}` } });
  t.equal(projects.status, 503);
  t.match(await projects.json(), { code: 'unavailable' });

  child.kill('SIGTERM');
  while ((await ready()) !== 503) await new Promise((resolve) => setImmediate(resolve));
  t.equal((await fetch(`${base}/health`)).status, 200, 'late requests are served while the endpoints are updated');
  t.same(await ended, [0, null]);
  t.match(output, 'process stopped');
  t.notMatch(output, password);
  t.notMatch(output, token);
});
