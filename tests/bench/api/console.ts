import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createApiServer } from '../../../infra/local/apiserver/server.ts';
import { consoleRuntime } from '../../../infra/manifests/platform/processes.ts';
import { migrate } from '../../../runtime/db/migrate.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { ensureCustomResources } from '../../runtime/kube/custom-resources.ts';
import { silentLog } from '../../support/log.ts';
import { startProcess } from '../../support/platform-process.ts';
import { query } from '../../support/postgres.ts';
import { endServer, freePort, startPostgres } from '../../support/servers.ts';

const main = join(import.meta.dirname, '../../../functions/main.ts');
/** Clock ticks of /proc/<pid>/stat a second. */
const ticks = 100;

/** console-api alone, with a PostgreSQL that does not wait for the disk, and an embedded API server in this process. */
export interface BenchConsole {
  base: string;
  password: string;
  kube: KubeClient;
  /** The URL of the database. */
  database: string;
  pid: number;
  /** Of PostgreSQL, or of what has started it. */
  storePid: number;
}

/** Starts console-api with a database and an API server of its own. */
export async function startConsole(
  folder: string,
  t: { teardown(end: () => unknown): void },
  environment: Readonly<Record<string, string>> = {},
): Promise<BenchConsole> {
  const store = await startPostgres(folder);
  t.teardown(() => endServer(store.pid));
  await query(`${store.url}/postgres`, 'CREATE DATABASE bench');
  const database = `${store.url}/bench`;
  await migrate({ url: database, clock: systemClock, log: silentLog });
  const server = createApiServer({ clock: systemClock, dataDir: join(folder, 'apiserver') });
  await server.start();
  t.teardown(() => server.stop());
  const kube = createKubeClient(loadKubeConfig(server.kubeconfig));
  t.teardown(() => kube.close());
  await ensureCustomResources(kube);
  const password = randomBytes(18).toString('base64url');
  writeFileSync(join(folder, 'password'), `${password}\n`);
  const keys = { current: 'k1', keys: { k1: randomBytes(32).toString('base64') } };
  writeFileSync(join(folder, 'keys.json'), JSON.stringify(keys));
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const started = startProcess(
    t,
    main,
    {
      PORT: String(port),
      ADMIN_PORT: String(await freePort()),
      EVENTS_PORT: '0',
      DATABASE_URL: database,
      KUBECONFIG: server.kubeconfig,
      ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
      ADMIN_PASSWORD_FILE: join(folder, 'password'),
      BASE_URL: base,
      ...environment,
    },
    consoleRuntime.options,
  );
  for (;;) {
    const { ok } = await fetch(`${base}/health`).catch(() => ({ ok: false }));
    if (ok) break;
    await systemClock.sleep(50);
  }
  return { base, password, kube, database, pid: started.child.pid ?? 0, storePid: store.pid };
}

/** Signs the first admin in. @returns the token */
export async function signIn(base: string, password: string): Promise<string> {
  const answer = await fetch(`${base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@svc.local', password }),
  });
  return ((await answer.json()) as { token: string }).token;
}

/** User and system time of a process. */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}

/** User and system time of a process and of all its descendants, those that have ended included. */
export function treeProcessorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const ended = (Number(fields[13]) + Number(fields[14])) / ticks;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  return children.reduce((sum, child) => sum + treeProcessorSeconds(Number(child)), processorSeconds(pid) + ended);
}
