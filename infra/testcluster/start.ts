import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { queryApiServer } from './api-server.ts';
import type { Binary, Tool } from './binaries.ts';
import { createCertificates } from './certificates.ts';
import { attempt, run } from './command.ts';
import { apiServerUrl, components, kubeconfigUsers, kubernetesPrograms } from './components.ts';
import type { ComponentName } from './components.ts';
import { configurationFiles, type ConfigurationFile } from './configuration.ts';
import { addRules } from './firewall.ts';
import { inspect, processStatuses } from './health.ts';
import type { Image } from './images.ts';
import { importImage } from './images.ts';
import { readKernelSettings, writeKernelSettings } from './kernel-settings.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { missingFolders } from './leftovers.ts';
import { baseObjects } from './manifests/base.ts';
import { dnsObjects } from './manifests/dns.ts';
import { ingressObjects } from './manifests/ingress.ts';
import type { KubernetesObject } from './manifests/object.ts';
import { addLinks } from './network.ts';
import { ClusterProblem } from './problem.ts';
import { startDetached } from './processes.ts';
import type { Progress } from './progress.ts';
import { inspectMachine, systemPath } from './requirements.ts';
import { goEnvironment, type IngressPorts, type Layout } from './settings.ts';
import { writeState } from './state.ts';

const readyMilliseconds = 120_000;
const pollMilliseconds = 150;

/** The programs and images of the cluster. */
export interface Parts {
  readonly binaries: ReadonlyMap<Tool['name'], Binary>;
  readonly images: ReadonlyMap<Tool['name'], Image>;
}

/**
 * Starts a cluster on a machine without one, and waits until it serves.
 * @throws ClusterProblem when a component does not start within 2 min. The processes stay, for their logs, until the
 *   cluster is stopped.
 */
export async function startCluster(
  layout: Layout,
  ingress: IngressPorts,
  parts: Parts,
  progress: Progress,
): Promise<void> {
  await progress.stage('prepare', () => prepare(layout, ingress, parts));
  const start = (...names: ComponentName[]): Promise<void> => startComponents(layout, names);
  const startControllers = async (): Promise<void> => {
    await waitUntil(layout, 'the API server', async () => (await queryApiServer(layout.pki, '/readyz')).body === 'ok');
    await apply(layout, baseObjects);
    await start('kube-controller-manager', 'kube-scheduler', 'kube-proxy', 'volume-provisioner');
  };
  await progress.stage('API server', async () => {
    await start('etcd', 'kube-apiserver', 'containerd', 'registry');
    await Promise.all([importImages(layout, parts.images), startControllers()]);
  });
  await progress.stage('node, DNS and ingress', async () => {
    await start('kubelet');
    await applyWorkloads(layout, ingress, parts);
    await awaitHealth(layout, ingress);
  });
}

/**
 * Waits until every component is healthy.
 * @throws ClusterProblem that names the unhealthy ones, after 2 min or as soon as a process has exited
 */
export async function awaitHealth(layout: Layout, ingress: IngressPorts): Promise<void> {
  const describe = async (): Promise<string> => {
    const { components: parts } = await inspect(layout, ingress);
    return parts.flatMap(({ name, state, detail }) => (state === 'ok' ? [] : `${name}: ${detail}`)).join('; ');
  };
  await waitUntil(layout, 'the cluster', async () => (await inspect(layout, ingress)).state === 'up', describe);
}

async function prepare(layout: Layout, ingress: IngressPorts, parts: Parts): Promise<void> {
  writeState(layout, { ingress, nodes: 1, kernelSettings: readKernelSettings(), missingFolders: missingFolders() });
  for (const folder of [layout.bin, layout.configuration, join(layout.data, 'volumes'), layout.logs]) {
    mkdirSync(folder, { recursive: true });
  }
  const kubernetes = required(parts.binaries, 'kubernetes').path;
  for (const name of kubernetesPrograms) symlinkSync(kubernetes, join(layout.bin, name));
  writeKernelSettings({
    'net/ipv4/ip_forward': '1',
    'net/bridge/bridge-nf-call-iptables': '1',
    // Pods use IPv4 only. An IPv6 address for each new one would make a browser on this machine end the connections that it
    // is opening (ERR_NETWORK_CHANGED). https://docs.kernel.org/networking/ip-sysctl.html (addr_gen_mode)
    'net/ipv6/conf/default/addr_gen_mode': '1',
  });
  await addLinks();
  await addRules(ingress);
  await createCertificates(layout.pki);
  for (const user of kubeconfigUsers) {
    writeKubeconfig(join(layout.configuration, `${user}.kubeconfig`), layout.pki, user, apiServerUrl);
  }
  writeKubeconfig(layout.kubeconfig, layout.pki, 'admin', apiServerUrl);
  writeConfiguration(layout, configurationFiles(layout, inspectMachine()));
}

/** Writes configuration files into a node's folder. */
export function writeConfiguration(layout: Layout, files: readonly ConfigurationFile[]): void {
  for (const { path, text } of files) {
    const file = join(layout.configuration, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

/** The environment of processes: not the caller's, since a proxy in it would get the cluster's own traffic. */
export function environmentOf(layout: Layout): NodeJS.ProcessEnv {
  return { PATH: [layout.bin, ...systemPath].join(':'), HOME: layout.data, ...goEnvironment };
}

/**
 * Starts processes of the cluster, dependencies first.
 * @param further parameters that replace equal ones: the last one of two equal flags counts
 */
export async function startComponents(
  layout: Layout,
  names: readonly ComponentName[],
  further: readonly string[] = [],
): Promise<void> {
  const environment = environmentOf(layout);
  for (const { name, program, parameters } of components(layout)) {
    if (!names.includes(name)) continue;
    const logFile = join(layout.logs, `${name}.log`);
    const all = [...parameters, ...further];
    await startDetached({ name, path: program, parameters: all, environment, logFile }, layout.processes);
  }
}

async function importImages(layout: Layout, images: Parts['images']): Promise<void> {
  await waitUntil(layout, 'containerd', () => isContainerdReady(layout));
  for (const image of images.values()) await importImage(layout.containerdSocket, image);
}

async function applyWorkloads(layout: Layout, ingress: IngressPorts, parts: Parts): Promise<void> {
  const image = (name: Tool['name']): string => required(parts.images, name).reference;
  await apply(layout, dnsObjects(image('coredns')));
  await applyText(layout, readFileSync(join(required(parts.binaries, 'traefik').folder, 'crds.yml'), 'utf8'));
  await apply(layout, ingressObjects(image('traefik'), ingress));
}

/** Whether the containerd of a node answers. */
export async function isContainerdReady({ containerdSocket }: Layout): Promise<boolean> {
  return (await attempt('ctr', ['--address', containerdSocket, 'version'])).code === 0;
}

function apply(layout: Layout, objects: readonly KubernetesObject[]): Promise<void> {
  return applyText(layout, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
}

async function applyText(layout: Layout, text: string): Promise<void> {
  const access = [`--kubeconfig=${layout.kubeconfig}`, `--cache-dir=${join(layout.data, 'kubectl-cache')}`];
  const parameters = ['apply', '--server-side', '--force-conflicts', '--filename=-'];
  await run(join(layout.bin, 'kubectl'), [...access, ...parameters], { input: text });
}

function required<K, V>(map: ReadonlyMap<K, V>, key: K): V {
  const value = map.get(key);
  if (value === undefined) throw new Error(`not built: ${String(key)}`);
  return value;
}

/**
 * Waits until a part of the cluster is ready.
 * @param names the processes without which it cannot become ready; default: those of the cluster without its second node
 * @throws ClusterProblem after 2 min, or as soon as one of the processes has exited
 */
export async function waitUntil(
  layout: Layout,
  subject: string,
  isReady: () => Promise<boolean>,
  describe: () => Promise<string> = () => Promise.resolve('no response'),
  names?: readonly string[],
): Promise<void> {
  const deadline = performance.now() + readyMilliseconds;
  while (!(await isReady())) {
    const exited = processStatuses(layout, names).find(({ detail }) => detail.endsWith('has exited'));
    if (exited !== undefined) {
      const log = join(layout.logs, `${exited.name}.log`);
      const tail = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-10).join('\n');
      throw new ClusterProblem(`${exited.name} has exited. Last lines of ${log}:\n${tail}`);
    }
    if (performance.now() > deadline) {
      const seconds = readyMilliseconds / 1000;
      throw new ClusterProblem(
        `${subject} is not ready after ${seconds} s (${await describe()}); logs: ${layout.logs}`,
      );
    }
    await delay(pollMilliseconds);
  }
}
