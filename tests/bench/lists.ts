import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Pool } from 'undici';
import { createApiServer } from '../../infra/local/apiserver/server.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Project } from '../../runtime/contracts/resources/project.ts';
import { migrate } from '../../runtime/db/migrate.ts';
import { systemClock } from '../../runtime/domain/clock.ts';
import { newId } from '../../runtime/domain/ids.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { ensureCustomResources } from '../runtime/kube/custom-resources.ts';
import { silentLog } from '../support/log.ts';
import { platformConfigObject } from '../support/objects.ts';
import { startProcess } from '../support/platform-process.ts';
import { query } from '../support/postgres.ts';
import { endServer, freePort, startPostgres } from '../support/servers.ts';
import { median, printFigure } from './figure.ts';
import { createWorkloads } from './controllers/workloads.ts';

const main = join(import.meta.dirname, '../../functions/main.ts');
const connections = 8;
/** Clock ticks of /proc/<pid>/stat a second. */
const ticks = 100;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * The processor time that console-api takes for a request: lists of projects and apps, and a refusal for comparison, with
 * its own PostgreSQL and an embedded API server in this process. `--projects <n>` (5), `--apps <n>` (20), `--requests <n>` a
 * round (4,000), `--rounds <n>` (5), alternating; the figure is the median of the rounds.
 */
export async function run(args: string[]): Promise<void> {
  const option = (value: string) => ({ type: 'string', default: value }) as const;
  const { values } = parseArgs({
    args,
    options: { projects: option('5'), apps: option('20'), requests: option('4000'), rounds: option('5') },
  });
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'));
  const ends: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 })];
  try {
    const api = await startConsole(folder, { teardown: (end) => ends.unshift(end) });
    await seed(api.kube, { projects: Number(values.projects), apps: Number(values.apps) });
    const token = await signIn(api.base, api.password);
    const pool = new Pool(api.base, { connections });
    ends.unshift(() => pool.close());
    const targets = {
      refused: { path: '/api/v1/projects', token: undefined, status: 401 },
      projects: { path: '/api/v1/projects', token, status: 200 },
      project: { path: '/api/v1/projects/bench0', token, status: 200 },
      apps: { path: '/api/v1/projects/bench0/apps', token, status: 200 },
    };
    // What the sign-in changed counts for ten seconds.
    await systemClock.sleep(11_000);
    const measured = Object.fromEntries(Object.keys(targets).map((name) => [name, [] as number[]]));
    for (let round = -1; round < Number(values.rounds); round++) {
      for (const [name, { path, token: bearer, status }] of Object.entries(targets)) {
        const headers = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
        const before = processorSeconds(api.pid);
        let left = Number(values.requests);
        const work = async () => {
          while (left-- > 0) {
            const answer = await pool.request({ path, method: 'GET', headers });
            await answer.body.dump();
            if (answer.statusCode !== status) throw new Error(`${path} answered ${answer.statusCode}`);
          }
        };
        await Promise.all(Array.from({ length: connections }, work));
        const micros = ((processorSeconds(api.pid) - before) * 1e6) / Number(values.requests);
        // The first round warms up.
        if (round >= 0) measured[name]?.push(micros);
        say(`${name} ${micros.toFixed(0)} µs`);
      }
    }
    for (const [name, micros] of Object.entries(measured)) {
      const target = name === 'projects' ? ({ operator: '<=', value: 110 } as const) : undefined;
      printFigure({ name: `lists.${name}.cpu`, value: median(micros), unit: 'µs', ...(target && { target }) });
    }
  } finally {
    for (const end of ends) await end();
  }
}

/** Starts console-api with a database and an API server of its own. */
async function startConsole(folder: string, t: { teardown(end: () => unknown): void }) {
  const store = await startPostgres(folder);
  t.teardown(() => endServer(store.pid));
  await query(`${store.url}/postgres`, 'CREATE DATABASE lists');
  const database = `${store.url}/lists`;
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
  const started = startProcess(t, main, {
    PORT: String(port),
    ADMIN_PORT: String(await freePort()),
    EVENTS_PORT: '0',
    DATABASE_URL: database,
    KUBECONFIG: server.kubeconfig,
    ENCRYPTION_KEYS_FILE: join(folder, 'keys.json'),
    ADMIN_PASSWORD_FILE: join(folder, 'password'),
    BASE_URL: base,
  });
  for (;;) {
    const { ok } = await fetch(`${base}/health`).catch(() => ({ ok: false }));
    if (ok) break;
    await systemClock.sleep(50);
  }
  return { base, password, kube, pid: started.child.pid ?? 0 };
}

async function seed(kube: KubeClient, { projects, apps }: { projects: number; apps: number }): Promise<void> {
  await kube.create(platformConfigObject);
  for (let number = 0; number < projects; number++) {
    const name = `bench${number}`;
    const environment = { name: 'prod', id: newId() };
    const { apiVersion, kind } = kinds.Project;
    const metadata = { name, labels: { [idLabel]: newId() } };
    await kube.create({ apiVersion, kind, metadata, spec: { environments: [environment] } } as Project);
    await kube.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: `${name}-prod` } });
    const status = { phase: 'ready', environments: [{ ...environment, namespace: `${name}-prod`, ready: true }] };
    await kube.mergePatch({ apiVersion, kind, name }, { status }, 'status');
  }
  await createWorkloads(kube, 'bench0', { functions: 0, apps });
}

async function signIn(base: string, password: string): Promise<string> {
  const answer = await fetch(`${base}/api/v1/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ email: 'admin@svc.local', password }),
  });
  return ((await answer.json()) as { token: string }).token;
}

/** User and system time of a process. */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / ticks;
}
