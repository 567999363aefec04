import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { systemClock } from '../../../runtime/domain/clock.ts';
import { isAlive } from '../../../infra/process-record.ts';
import { kwok, obtainBinary, tools, type Binary, type Tool } from '../../../infra/testcluster/binaries.ts';
import { createCertificates } from '../../../infra/testcluster/certificates.ts';
import { attempt, run } from '../../../infra/testcluster/command.ts';
import { components, kubernetesPrograms, type ComponentName } from '../../../infra/testcluster/components.ts';
import { writeKubeconfig } from '../../../infra/testcluster/kubeconfig.ts';
import { readRecords, startDetached, stopAll } from '../../../infra/testcluster/processes.ts';
import type { Progress } from '../../../infra/testcluster/progress.ts';
import {
  defaultHome,
  layoutOf,
  ports as defaultPorts,
  type Layout,
  type Ports,
} from '../../../infra/testcluster/settings.ts';
import { createKubeClient } from '../../../runtime/kube/client.ts';
import { loadKubeConfig } from '../../../runtime/kube/kubeconfig.ts';
import type { ConnectedKubeClient } from '../../../runtime/kube/client.ts';
import { freePort } from '../../support/servers.ts';

/** The pods that one node accepts: the default of a kubelet. */
const podsPerNode = 110;
const graceMs = 5_000;

/**
 * By default, each client sends 20 requests a second (kube-controller-manager) or 50 (kube-scheduler), and five
 * Deployment objects are in progress: that would be the time to create thousands of pods.
 */
const clientRate = ['--kube-api-qps=1000', '--kube-api-burst=2000'];
const furtherParameters: Readonly<Partial<Record<ComponentName, readonly string[]>>> = {
  // No other machine needs to reach it.
  'kube-apiserver': ['--bind-address=127.0.0.1'],
  'kube-controller-manager': [
    ...clientRate,
    '--concurrent-deployment-syncs=20',
    '--concurrent-replicaset-syncs=20',
    '--concurrent-resource-quota-syncs=20',
  ],
  'kube-scheduler': clientRate,
};
/** Of each Go program; the API server keeps every object in memory. */
const environment = { GOGC: '200', GOMEMLIMIT: '3GiB' };

/** A Kubernetes whose nodes are fake: pods are scheduled and become ready, but nothing runs. */
export interface FakeNodesCluster {
  kube: ConnectedKubeClient;
  apiServer: { host: string; port: number; authority: string };
  kubectl: (...parameters: string[]) => Promise<string>;
  applyFile: (file: string) => Promise<void>;
  /** The custom resources of Traefik. */
  traefikResources: string;
  /** @throws Error when one of its programs has ended */
  requireAll: () => void;
  stop: () => Promise<void>;
}

/**
 * Starts etcd, the API server, its controllers and its scheduler, as the test cluster does but on free ports of
 * 127.0.0.1, and KWOK (https://kwok.sigs.k8s.io) with nodes for this number of pods. Their data is below `folder`.
 */
export async function startFakeNodes(folder: string, pods: number, progress: Progress): Promise<FakeNodesCluster> {
  const { cache } = layoutOf(defaultHome());
  mkdirSync(cache, { recursive: true });
  const built = async (name: Tool['name']): Promise<Binary> => {
    const tool = [...tools, kwok].find((candidate) => candidate.name === name);
    if (!tool) throw new Error(`unknown tool ${name}`);
    return obtainBinary(tool, cache, progress);
  };
  const kubernetes = await built('kubernetes');
  const fakeNodes = await built('kwok');
  const traefik = await built('traefik');

  const layout = layoutOf(folder);
  const ports = await freePorts();
  const host = '127.0.0.1';
  const server = `https://${host}:${ports.apiServer}`;
  const stop = () => stopAll(readRecords(layout.processes), graceMs);
  try {
    await prepare(layout, kubernetes.path, server);
    await startComponents(layout, ports, ['etcd', 'kube-apiserver']);
    const access = [`--kubeconfig=${layout.kubeconfig}`, `--cache-dir=${join(layout.data, 'kubectl-cache')}`];
    const kubectl: FakeNodesCluster['kubectl'] = (...parameters) =>
      run(join(layout.bin, 'kubectl'), [...access, ...parameters]);
    await untilReady(() => attempt(join(layout.bin, 'kubectl'), [...access, 'get', '--raw=/readyz']));
    const kube = createKubeClient(loadKubeConfig(layout.kubeconfig));
    await startComponents(layout, ports, ['kube-controller-manager', 'kube-scheduler']);
    await startKwok(layout, fakeNodes.path, await freePort());
    for (let number = 0; number * podsPerNode < pods; number++) await kube.create(fakeNode(number));
    return {
      kube,
      apiServer: { host, port: ports.apiServer, authority: readFileSync(join(layout.pki, 'ca.crt'), 'utf8') },
      kubectl,
      applyFile: async (file) => void (await kubectl('apply', '--server-side', `--filename=${file}`)),
      traefikResources: join(traefik.folder, 'crds.yml'),
      requireAll() {
        const ended = readRecords(layout.processes).filter((record) => !isAlive(record));
        if (ended.length > 0) throw new Error(`${ended.map(({ name }) => name).join(', ')} ended; see ${layout.logs}`);
      },
      async stop() {
        await kube.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function freePorts(): Promise<Ports> {
  const ports: Record<string, number> = {};
  for (const name of Object.keys(defaultPorts)) ports[name] = await freePort();
  return ports as Ports;
}

async function prepare(layout: Layout, kubernetes: string, server: string): Promise<void> {
  for (const path of [layout.bin, layout.configuration, layout.data, layout.logs]) mkdirSync(path, { recursive: true });
  for (const name of kubernetesPrograms) symlinkSync(kubernetes, join(layout.bin, name));
  await createCertificates(layout.pki);
  for (const user of ['controller-manager', 'scheduler'] as const)
    writeKubeconfig(join(layout.configuration, `${user}.kubeconfig`), layout.pki, user, server);
  writeKubeconfig(layout.kubeconfig, layout.pki, 'admin', server);
}

async function startComponents(layout: Layout, ports: Ports, names: readonly ComponentName[]): Promise<void> {
  const all = components(layout, ports);
  for (const name of names) {
    const component = all.find((candidate) => candidate.name === name);
    if (!component) throw new Error(`no component ${name}`);
    // The last one of two equal flags counts.
    const parameters = [...component.parameters, ...(furtherParameters[name] ?? [])];
    await start(layout, name, component.program, parameters);
  }
}

/** Without stages of its own, KWOK uses those that make nodes and pods ready at once. */
function startKwok(layout: Layout, program: string, port: number): Promise<void> {
  return start(layout, 'kwok', program, [
    `--kubeconfig=${layout.kubeconfig}`,
    `--config=${writeKwokOptions(layout)}`,
    '--manage-all-nodes=true',
    '--cidr=10.128.0.0/16',
    '--node-ip=127.0.0.1',
    `--server-address=127.0.0.1:${port}`,
    '--node-lease-duration-seconds=40',
  ]);
}

/** KWOK takes these options from a file only. */
function writeKwokOptions(layout: Layout): string {
  const file = join(layout.configuration, 'kwok.yaml');
  const options = { podPlayStageParallelism: 16, nodePlayStageParallelism: 4 };
  const object = { apiVersion: 'config.kwok.x-k8s.io/v1alpha1', kind: 'KwokConfiguration', options };
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(object));
  return file;
}

async function start(layout: Layout, name: string, path: string, parameters: readonly string[]): Promise<void> {
  const logFile = join(layout.logs, `${name}.log`);
  await startDetached(
    { name, path, parameters, logFile, environment: { ...environment, PATH: process.env['PATH'], HOME: layout.data } },
    layout.processes,
  );
}

async function untilReady(check: () => Promise<{ code: number }>): Promise<void> {
  const deadline = performance.now() + 120_000;
  while ((await check()).code !== 0) {
    if (performance.now() > deadline) throw new Error('the API server is not ready after 120 s');
    await systemClock.sleep(250);
  }
}

function fakeNode(number: number): KubeObject {
  const { apiVersion, kind } = kinds.Node;
  const name = `fake-${number}`;
  const resources = { cpu: '64', memory: '512Gi', 'ephemeral-storage': '1Ti', pods: String(podsPerNode) };
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      annotations: { 'node.alpha.kubernetes.io/ttl': '0', 'kwok.x-k8s.io/node': 'fake' },
      labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', type: 'kwok' },
    },
    status: { capacity: resources, allocatable: resources },
  };
}
