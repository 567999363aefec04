import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { consoleRuntime } from '../../infra/manifests/platform/processes.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { silentLog } from './log.ts';
import { startProcess, type PlatformProcess } from './platform-process.ts';
import { query } from './postgres.ts';
import { freePort, testServers } from './servers.ts';

const main = join(import.meta.dirname, '../../functions/main.ts');

interface Tap {
  teardown(end: () => unknown): void;
  testdir(files: Record<string, string>): string;
}

/** A running console-api. */
export interface ConsoleProcess extends PlatformProcess {
  /** Its address, as clients use it. */
  base: string;
  port: number;
  /** The address of its admin server. */
  admin: string;
  /** The password of `admin@svc.local`. */
  password: string;
}

/** Starts console-api as its pod does, with a database of its own and an API server that does not answer. */
export async function startConsole(t: Tap): Promise<ConsoleProcess> {
  const server = testServers().postgres.url;
  const name = `test_${randomBytes(6).toString('hex')}`;
  await query(`${server}/postgres`, `CREATE DATABASE ${name}`);
  t.teardown(() => query(`${server}/postgres`, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`));
  await migrate({ url: `${server}/${name}`, clock: systemClock, log: silentLog });

  const closedPort = await freePort();
  const password = randomBytes(18).toString('base64url');
  const folder = t.testdir({
    password: `${password}\n`,
    'keys.json': JSON.stringify({ current: 'k1', keys: { k1: randomBytes(32).toString('base64') } }),
    kubeconfig: JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'none', cluster: { server: `https://127.0.0.1:${closedPort}` } }],
      users: [{ name: 'none', user: {} }],
      contexts: [{ name: 'none', context: { cluster: 'none', user: 'none' } }],
      'current-context': 'none',
    }),
  });
  const [port, adminPort] = [await freePort(), await freePort()];
  const base = `http://127.0.0.1:${port}`;
  const started = startProcess(
    t,
    main,
    {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      EVENTS_PORT: '0',
      DATABASE_URL: `${server}/${name}`,
      KUBECONFIG: join(folder, 'kubeconfig'),
      ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
      ADMIN_PASSWORD_FILE: join(folder, 'password'),
      BASE_URL: base,
    },
    consoleRuntime.options,
  );
  await Promise.race([
    started.logged('process started'),
    started.ended.then((code) => {
      throw new Error(`console-api ended with ${code}: ${started.lines.join('\n')}`);
    }),
  ]);
  return { ...started, base, port, admin: `http://127.0.0.1:${adminPort}`, password };
}
