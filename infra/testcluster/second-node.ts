import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, type ProcessRecord } from '../process-record.ts';
import { addPodGroup, killPods, removePodGroups } from './cgroups.ts';
import { attempt, type CommandResult } from './command.ts';
import { kubeletParameters, programNames, provisionerParameters, secondNodeNames } from './components.ts';
import { nodeConfigurationFiles } from './configuration.ts';
import { inspectSecondNode, summarise } from './health.ts';
import { importImage, type Image } from './images.ts';
import { writeKubeconfig } from './kubeconfig.ts';
import { fixedFolders } from './leftovers.ts';
import { addNodeNetwork, removeNodeNetwork } from './node-network.ts';
import { ClusterProblem } from './problem.ts';
import { findProcesses, readRecords, startDetached, stopAll } from './processes.ts';
import { inspectMachine } from './requirements.ts';
import { node, ports, secondNode, secondNodeLayout, type Layout } from './settings.ts';
import { environmentOf, isContainerdReady, waitUntil, writeConfiguration } from './start.ts';
import { readState, writeState } from './state.ts';

const graceMilliseconds = 1000;

/** The control group of the node's pods. */
const podGroup = secondNode.name;

/**
 * Starts a program in a mount namespace of its own, which ends with its last process, and so all mounts of the node with
 * it. It keeps none of the first node's mounts in use, shares mounts with pods as the kubelet requires, and has folders of
 * its own at the places that are the same on every node.
 */
const inOwnMounts = `set -e
run=$1 own=$2 folders=$3; shift 3
mount --make-rshared /
awk -v run="$run/" 'index($5, run) == 1 { print $5 }' /proc/self/mountinfo | tac | while read -r path; do
  umount --lazy "$path"
done
for folder in $folders; do
  mkdir -p "$folder" "$own$folder"
  mount --bind "$own$folder" "$folder"
done
exec "$@"`;

/** Whether all of the second node runs and it is ready. */
export async function hasSecondNode(layout: Layout): Promise<boolean> {
  return summarise(await inspectSecondNode(layout)).state === 'up' && readState(layout)?.nodes === 2;
}

/**
 * Adds the second node to a running cluster that has none, and waits until it is ready: a containerd, a kubelet, a
 * kube-proxy and a provisioner of volumes in a network namespace that a cable connects to this machine.
 * @throws ClusterProblem when it does not become ready within 2 min
 */
export async function addSecondNode(layout: Layout, pauseImage: Image): Promise<void> {
  const own = secondNodeLayout(layout);
  recordNodes(layout, 2);
  for (const folder of [own.configuration, join(own.data, 'volumes')]) mkdirSync(folder, { recursive: true });
  const users = { node: 'node-2', proxy: 'proxy', 'volume-provisioner': 'volume-provisioner' };
  for (const [user, certificate] of Object.entries(users)) {
    const file = join(own.configuration, `${user}.kubeconfig`);
    writeKubeconfig(file, layout.pki, certificate, `https://${node.address}:${ports.apiServer}`);
  }
  await addNodeNetwork();
  const registryHost = node.address;
  const settings = { ...secondNode, certificate: 'kubelet-2', registryHost, controlGroup: addPodGroup(podGroup) };
  writeConfiguration(own, nodeConfigurationFiles(own, inspectMachine(), settings));
  await startSecondNode(layout, pauseImage);
}

/** Starts the processes of the second node, and waits until it is ready. */
async function startSecondNode(layout: Layout, pauseImage: Image): Promise<void> {
  const own = secondNodeLayout(layout);
  const bin = (name: string): string => join(layout.bin, name);
  const start = (name: (typeof secondNodeNames)[number], path: string, parameters: readonly string[]) =>
    startDetached(
      { name, path, parameters, environment: environmentOf(own), logFile: join(layout.logs, `${name}.log`) },
      layout.processes,
    );
  const { pid } = await start('containerd-2', 'nsenter', [
    `--net=/run/netns/${secondNode.namespace}`,
    ...['unshare', '--mount', '--propagation', 'private'],
    ...['sh', '-c', inOwnMounts, 'sh', layout.run, join(own.run, 'fixed'), fixedFolders.join(' ')],
    ...['containerd', '--config', join(own.configuration, 'containerd.toml')],
  ]);
  const wait = (subject: string, isReady: () => Promise<boolean>) =>
    waitUntil(layout, subject, isReady, undefined, secondNodeNames.slice(0, 1));
  await wait('containerd of node 2', () => isContainerdReady(own));
  await importImage(own.containerdSocket, pauseImage);
  const inside = ['--target', String(pid), '--mount', '--net', '--'];
  await start('kubelet-2', 'nsenter', [...inside, bin('kubelet'), ...kubeletParameters(own, secondNode)]);
  const proxy = [bin('kube-proxy'), `--config=${join(own.configuration, 'proxy.yaml')}`];
  await start('kube-proxy-2', 'nsenter', [...inside, ...proxy]);
  const provisioner = [bin('volume-provisioner'), ...provisionerParameters(own, secondNode)];
  await start('volume-provisioner-2', 'nsenter', [...inside, ...provisioner]);
  await waitUntil(layout, 'node 2', () => hasSecondNode(layout), undefined, secondNodeNames);
}

/**
 * Kills the second node as a power failure does: all processes at once, those of its pods included, and with them its
 * mounts. Its network namespace and its files remain.
 */
export async function killSecondNode(layout: Layout): Promise<void> {
  await stopAll(ownProcesses(layout), 0);
  await killPods(podGroup);
}

/**
 * Stops the second node and removes it from the cluster and from the machine, with its pods and its volumes.
 * @throws ClusterProblem when something cannot be killed or removed
 */
export async function removeSecondNode(layout: Layout): Promise<void> {
  const own = secondNodeLayout(layout);
  await stopAll(
    ownProcesses(layout).filter(({ name }) => name.startsWith('kube')),
    graceMilliseconds,
  );
  await killSecondNode(layout);
  await removePodGroups(podGroup);
  await removeNodeNetwork();
  const kubectl = (...parameters: string[]) =>
    attempt(join(layout.bin, 'kubectl'), [`--kubeconfig=${layout.kubeconfig}`, ...parameters]);
  const field = `--field-selector=spec.nodeName=${secondNode.name}`;
  await kubectl('delete', 'node', secondNode.name, '--ignore-not-found');
  // No kubelet confirms their end.
  const pods = await kubectl(
    'delete',
    'pods',
    '--all-namespaces',
    field,
    '--force',
    '--grace-period=0',
    '--wait=false',
  );
  if (pods.code !== 0) throw new ClusterProblem(`cannot remove the pods of ${secondNode.name}: ${pods.stderr}`);
  await removeVolumes(kubectl);
  for (const name of secondNodeNames) rmSync(join(layout.processes, `${name}.json`), { force: true });
  for (const socket of ['', '.ttrpc']) rmSync(`${own.containerdSocket}${socket}`, { force: true });
  rmSync(own.run, { recursive: true, force: true });
  recordNodes(layout, 1);
}

/** Removes the volumes of the node, whose provisioner is gone. */
async function removeVolumes(kubectl: (...parameters: string[]) => Promise<CommandResult>): Promise<void> {
  const { stdout } = await kubectl('get', 'persistentvolumes', '--output=json');
  const { items } = JSON.parse(stdout || '{"items":[]}') as { items: { metadata: { name: string } }[] };
  const own = items.filter((volume) => JSON.stringify(volume).includes(`"${secondNode.name}"`));
  const names = own.map(({ metadata }) => metadata.name);
  if (names.length > 0) await kubectl('delete', 'persistentvolumes', '--wait=false', ...names);
}

function recordNodes(layout: Layout, nodes: 1 | 2): void {
  const state = readState(layout);
  if (state === undefined) throw new ClusterProblem('the test cluster is not running');
  writeState(layout, { ...state, nodes });
}

/** The processes of the node itself, without those in its pods. */
function ownProcesses(layout: Layout): ProcessRecord[] {
  const own = secondNodeLayout(layout);
  const names: readonly string[] = secondNodeNames;
  const records = readRecords(layout.processes).filter((record) => names.includes(record.name) && isAlive(record));
  const pids = new Set(records.map(({ pid }) => pid));
  const stray = findProcesses(programNames, layout.run).filter(({ pid }) => !pids.has(pid) && belongs(pid, own));
  return [...records, ...stray];
}

/** Whether a process, such as a container's shim, has parameters with the node's paths. */
function belongs(pid: number, { run, containerdSocket }: Layout): boolean {
  try {
    const text = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return text.includes(`${run}/`) || text.includes(containerdSocket);
  } catch {
    return false;
  }
}
