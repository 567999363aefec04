import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pod } from '../../../runtime/contracts/pod.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, systemNamespace } from '../../../runtime/domain/labels.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { eventually, uniqueName, type Platform } from '../../support/platform.ts';
import { createProject } from '../controllers/workloads.ts';
import { createTargets, enableWebhook, type Caller, type Target } from '../deploys/callers.ts';
import { platformDatabase } from '../deploys/database.ts';
import { redisList, type AttackName, type Places, type Victim } from './attackers.ts';
import type { Tenants } from './load.ts';

const image = 'localhost:5000/svc/hello:v1';
const gitApps = 4;
const attackedApps = 10;
/** Functions that read the attacker's Redis. */
const redisSources = 2;

/** Creates the project of the tenants: a gated app, an app with a pod, and this many apps without pods. */
export async function createTenants(
  platform: Platform,
  kube: KubeClient,
  caller: Caller,
  { project, apps }: { project: string; apps: number },
): Promise<Tenants> {
  const flags = ['--project', project, '--environment', 'prod'];
  await createProject(kube, project);
  const targets = await createTargets(platform, kube, project, apps);
  await platform.ok(['app', 'create', 'gated', '--image', image, ...flags]);
  await platform.ok(['app', 'gate', 'enable', 'gated', ...flags]);
  await platform.ok(['app', 'create', 'deployed', '--image', image, ...flags]);
  await platform.ok(['plan', 'create', 'large', '--rate', '1000', '--burst', '1000', ...flags]);
  const key = await platform.ok(['key', 'create', '--plan', 'large', '--app', 'gated', ...flags]);
  const { url } = await platform.json<{ url: string }>(['app', 'show', 'gated', ...flags]);
  await eventually(
    () => platform.request(url, { headers: { 'x-api-key': key } }),
    ({ status }) => status === 200,
  );
  const deployed: Target = { app: 'deployed', ...(await enableWebhook(platform, 'deployed', flags)) };
  const database = await platformDatabase(kube);
  const { ingress } = platform.info;
  return { ingress, database, namespace: `${project}-prod`, caller, gated: { url, key }, deployed, targets };
}

/**
 * Creates the attacker's project, with what these attacks need.
 * @param options.gitPort of the attacker's git server
 * @returns the routes that each attack calls
 */
export async function createAttackerProject(
  platform: Platform,
  kube: KubeClient,
  {
    project,
    host,
    attacks,
    gitPort,
  }: { project: string; host: Places['host']; attacks: readonly AttackName[]; gitPort: number | undefined },
): Promise<Record<AttackName, Victim[]>> {
  const flags = ['--project', project, '--environment', 'prod'];
  await createProject(kube, project);
  const apps = await createTargets(platform, kube, project, attackedApps + gitApps);
  const webhooks = apps
    .slice(0, attackedApps)
    .map(({ address, token }) => ({ host: address.host, path: address.pathname, headers: { 'x-svc-token': token } }));
  const api = { host: new URL(platform.info.api).host };
  const login: Victim = { ...api, path: '/api/v1/session' };
  const authorization = `Bearer ${await signIn(platform)}`;
  const syncs: Victim[] = [];
  for (const { app } of gitPort === undefined ? [] : apps.slice(attackedApps)) {
    const url = `http://${host}:${gitPort}/${app}.git`;
    // The attacker's repository cannot be built, which the command would wait for.
    await platform.ok(['app', 'git', 'set', app, '--url', url, '--no-wait', ...flags]);
    const path = `/api/v1/projects/${project}/apps/${app}/git/sync?environment=prod`;
    syncs.push({ ...api, path, headers: { authorization } });
  }
  const redis = attacks.includes('redis') ? [await createSources(platform, kube, project)] : [];
  return { bodies: [login], expressions: webhooks, redis, git: syncs, logins: [login] };
}

/** Allows git servers at an address, besides those that the installation allows. @returns forbids them again */
export async function allowGitServer(platform: Platform, address: string): Promise<() => Promise<unknown>> {
  const { builds } = await platform.json<{ builds: { gitNetworks: string[] } }>(['platform', 'config', 'show']);
  const set = (networks: readonly string[]) => {
    const flags = networks.flatMap((network) => ['--git-network', network]);
    return platform.ok(['platform', 'config', 'set', ...(flags.length > 0 ? flags : ['--no-git-networks'])]);
  };
  await set([...builds.gitNetworks, address]);
  return () => set(builds.gitNetworks);
}

/**
 * Functions that are started by items of a list in a Redis of the same project.
 * @returns how the attacker, whose Redis it is, reaches it
 */
async function createSources(platform: Platform, kube: KubeClient, project: string): Promise<Victim> {
  const flags = ['--project', project, '--environment', 'prod'];
  const folder = mkdtempSync(join(tmpdir(), 'svc-siege-'));
  const file = join(folder, 'sink.js');
  writeFileSync(file, 'export const handler = () => "ok";\n');
  try {
    await platform.ok(['service', 'create', 'lists', '--type', 'redis', ...flags]);
    const source = ['--code-file', file, '--trigger', 'redis', '--source', 'lists', '--list', redisList];
    for (let number = 0; number < redisSources; number++) {
      await platform.ok(['function', 'create', uniqueName('sink'), '--no-wait', ...source, ...flags]);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  const { password } = await platform.json<{ password: string }>(['service', 'credentials', 'lists', ...flags]);
  const selection = { namespace: `${project}-prod`, labelSelector: `${appLabel}=lists` };
  const pod = (await kube.list<Pod>(kinds.Pod, selection)).items[0];
  const port = pod?.spec.containers[0]?.ports?.[0]?.containerPort;
  return { host: `${pod?.status?.podIP}:${port}`, path: '', headers: { password } };
}

async function signIn(platform: Platform): Promise<string> {
  const { info } = platform;
  const password = readFileSync(info.adminPasswordFile, 'utf8').trim();
  const body = JSON.stringify({ email: info.adminEmail, password });
  const headers = { 'content-type': 'application/json' };
  const answer = await platform.request(`${info.api}/api/v1/session`, { method: 'POST', headers, body });
  return String(answer.json()['token']);
}

/** How often the containers of each of the platform's pods have restarted, by the pod's name. */
export async function restartsByPod(kube: KubeClient): Promise<Map<string, number>> {
  const { items } = await kube.list<Pod>(kinds.Pod, { namespace: systemNamespace });
  const restarts = ({ status }: Pod) =>
    (status?.containerStatuses ?? []).reduce((sum, { restartCount }) => sum + restartCount, 0);
  return new Map(items.map((pod) => [pod.metadata.name, restarts(pod)]));
}

/** The restarts between two results of {@link restartsByPod}; a pod that was replaced counts as one. Pure. */
export function restartsBetween(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  return [...before].reduce((sum, [pod, count]) => sum + (after.has(pod) ? (after.get(pod) ?? 0) - count : 1), 0);
}
