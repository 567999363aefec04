import { createKubeClient } from '../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../runtime/kube/kubeconfig.ts';
import { startLoad, type Load } from '../support/load.ts';
import { eventually, runningPlatform, uniqueName, type Platform } from '../support/platform.ts';
import { replacePods, scaled } from '../support/replicas.ts';
import { removeProject } from './controllers/workloads.ts';
import { createCaller } from './deploys/callers.ts';
import { deploymentStates } from './deploys/database.ts';
import { printFigure } from './figure.ts';
import { settled } from './siege/load.ts';
import { createTenants } from './siege/world.ts';

const processes = ['svc-authz', 'svc-interceptor', 'console-api', 'svc-workers', 'svc-controllers'];
const replicas = 3;
/** Deployments that the webhooks begin belong to apps without pods. */
const apps = 4;
const say = (line: string) => process.stderr.write(`${line}\n`);

/**
 * Restarts one process of a running platform after the other (`SVC_HOME`, else the platform of `npm start`), with three
 * replicas each, while clients call a gated app, a function, the API and webhooks. Every request must be answered as
 * before, and every accepted deployment must end.
 */
export async function run(): Promise<void> {
  const platform = await runningPlatform();
  const kube = createKubeClient(loadKubeConfig(platform.info.kubeconfig));
  const caller = createCaller(platform.info.ingress, 1);
  const project = uniqueName('restarts');
  const restore: (() => unknown)[] = [];
  const loads = new Map<string, Load>();
  const target = { operator: '<=', value: 0 } as const;
  try {
    const tenants = await createTenants(platform, kube, caller, { project, apps });
    restore.push(() => tenants.database.end());
    for (const name of processes) await scaled({ teardown: (end) => restore.push(end) }, platform, name, replicas);
    for (const [name, load] of await startLoads(platform, project, tenants)) loads.set(name, load);
    for (const name of processes) {
      await answersFromAll(loads);
      const startedAt = performance.now();
      await replacePods(platform, name);
      printFigure({ name: `rolling-restart.${name}`, value: (performance.now() - startedAt) / 1000, unit: 's' });
    }
    await answersFromAll(loads);
    for (const [name, load] of loads) {
      const { answered, failures } = await load.stop();
      printFigure({ name: `rolling-restart.${name}.answered`, value: answered, unit: 'requests' });
      printFigure({ name: `rolling-restart.${name}.failed`, value: failures.length, unit: 'requests', target });
      for (const failure of new Set(failures)) say(`${name}: ${failure}`);
    }
    await settled(tenants);
    const { failed = 0 } = await deploymentStates(tenants.database, tenants.namespace);
    printFigure({ name: 'rolling-restart.deployments.failed', value: failed, unit: 'deployments', target });
  } finally {
    for (const load of loads.values()) await load.stop();
    for (const end of restore.toReversed()) await end();
    await caller.close();
    await removeProject(kube, project);
    await kube.close();
  }
}

/** Starts the clients. */
async function startLoads(
  platform: Platform,
  project: string,
  { gated, targets }: Awaited<ReturnType<typeof createTenants>>,
): Promise<Map<string, Load>> {
  const flags = ['--project', project, '--environment', 'prod'];
  const code = 'export const handler = () => "done";\n';
  await platform.ok(['function', 'create', 'called', '--runtime', 'node', '--code-file', '-', ...flags], code);
  const { url } = await platform.json<{ url: string }>(['function', 'show', 'called', ...flags]);
  const token = await platform.ok(['token', 'create', 'reader', '--project', project, '--scope', 'read']);
  const [target] = targets;
  if (!target) throw new Error('there are no apps with a webhook');
  await eventually(
    () => platform.request(url),
    ({ status }) => status === 200,
  );
  return new Map([
    ['gated', startLoad(platform, gated.url, { headers: { 'x-api-key': gated.key } })],
    ['function', startLoad(platform, url)],
    [
      'api',
      startLoad(platform, `${platform.info.api}/api/v1/projects/${project}`, {
        headers: { authorization: `Bearer ${token}` },
      }),
    ],
    [
      'webhooks',
      startLoad(platform, target.url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-svc-token': target.token },
        body: JSON.stringify({ image: 'registry.test/restarts:1' }),
        status: 202,
        clients: 1,
        pauseMs: 200,
      }),
    ],
  ]);
}

/** Resolves when each client got more answers. */
async function answersFromAll(loads: ReadonlyMap<string, Load>): Promise<void> {
  const more = 10;
  const before = new Map([...loads].map(([name, load]) => [name, load.answered()]));
  await eventually(
    async () => [...loads].every(([name, load]) => load.answered() >= (before.get(name) ?? 0) + more),
    (answered) => answered,
  );
}
