import { existsSync, mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { obtainBinaries, obtainBinary, tools } from './binaries.ts';
import { awaitHealth, startCluster } from './start.ts';
import type { ClusterStatus } from './health.ts';
import { inspect, inspectSecondNode, processStatuses, summarise } from './health.ts';
import { packImages, type Image } from './images.ts';
import { withLock } from './lock.ts';
import { ClusterProblem } from './problem.ts';
import type { Progress } from './progress.ts';
import { silentProgress } from './progress.ts';
import { requireFitMachine } from './preflight.ts';
import { installPackages, requireLinuxRoot, requirePackages } from './requirements.ts';
import type { IngressPorts, Layout } from './settings.ts';
import { defaultHome, defaultIngressPorts, layoutOf, node, ports } from './settings.ts';
import { addSecondNode, hasSecondNode, removeSecondNode } from './second-node.ts';
import { ingressPortsOf, readState } from './state.ts';
import { tearDown } from './teardown.ts';

/** The cluster and its progress output. */
export interface ClusterOptions {
  /** The cluster's folder; default `SVC_TESTCLUSTER_HOME` or `~/.cache/svc/testcluster`. */
  readonly home?: string;
  /** Receives progress; default none. */
  readonly progress?: Progress;
}

/** Options of {@link up}. */
export interface UpOptions extends ClusterOptions {
  /** Ports on 127.0.0.1 for Traefik; those of the running cluster, else 18080, 18443 and 18079. */
  readonly ingress?: Partial<IngressPorts>;
  /** How many nodes it has; default: those of the running cluster, else one. A running one gets or loses its second. */
  readonly nodes?: 1 | 2;
}

/** Addresses and folders; see {@link paths}. */
export interface ClusterPaths {
  readonly home: string;
  /** The administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Prefix of images that this machine pushes and pods pull. */
  readonly registry: string;
  /** The same registry as pods reach it. */
  readonly registryForPods: string;
  /** Port on 127.0.0.1 of Traefik's entry point `web`. */
  readonly ingressPort: number;
  /** Port on 127.0.0.1 of Traefik's entry point `websecure`. */
  readonly ingressTlsPort: number;
  /** Folder with `kubectl`. */
  readonly binDir: string;
  readonly containerdSocket: string;
  /** Folder with one log file per component. */
  readonly logs: string;
}

/** A first start builds for many minutes, and a second caller waits for it. */
const lockSeconds = 45 * 60;

/** A Unix socket's path has at most 107 bytes, and containerd appends a suffix. */
const longestSocketPath = 100;

/**
 * Starts the cluster and returns once it serves: nodes ready, CoreDNS and Traefik available. A healthy cluster is kept;
 * remains of an unclean stop are removed first. Only one caller works at a time; others wait.
 * @returns its health, which is `up`
 * @throws ClusterProblem when the machine cannot run it (`exitCode` 2) or it does not start (1)
 */
export async function up(options: UpOptions = {}): Promise<ClusterStatus> {
  requireLinuxRoot();
  const layout = resolve(options.home);
  const progress = options.progress ?? silentProgress;
  await installPackages(progress);
  return withLock(layout.lock, lockSeconds, reportWait(progress), async () => {
    const ingress = { ...ingressPortsOf(layout), ...options.ingress };
    if (await isRunning(layout, ingress)) {
      await adjustNodes(layout, options.nodes, progress);
      return inspectAll(layout, ingress);
    }
    const chosenPorts = { ...defaultIngressPorts, ...ingress };
    await tearDown(layout, progress);
    await requireFitMachine(layout, chosenPorts);
    const binaries = await obtainBinaries(layout.cache, progress);
    const images = await packImages(binaries);
    await startCluster(layout, chosenPorts, { binaries, images }, progress);
    await adjustNodes(layout, options.nodes, progress);
    return inspectAll(layout, ingress);
  });
}

/** Adds or removes the second node. One that a test has damaged is replaced when two nodes are requested. */
async function adjustNodes(layout: Layout, nodes: 1 | 2 | undefined, progress: Progress): Promise<void> {
  if (nodes === undefined || (nodes === 2 && (await hasSecondNode(layout)))) return;
  if (readState(layout)?.nodes === 2) await progress.stage('remove node 2', () => removeSecondNode(layout));
  if (nodes === 2) {
    const image = await pauseImage(layout, progress);
    await progress.stage('node 2', () => addSecondNode(layout, image));
  }
}

/** The image that a node needs for every pod. */
async function pauseImage(layout: Layout, progress: Progress): Promise<Image> {
  const tool = tools.find(({ name }) => name === 'pause');
  if (tool === undefined) throw new Error('no tool builds the image of pods');
  const images = await packImages(new Map([['pause', await obtainBinary(tool, layout.cache, progress)]]));
  return [...images.values()][0] as Image;
}

async function inspectAll(layout: Layout, ingress: IngressPorts): Promise<ClusterStatus> {
  const { components } = await inspect(layout, ingress);
  return summarise([...components, ...(await inspectSecondNode(layout))]);
}

/**
 * Checks whether {@link up} can start a cluster here, without changing the machine. Passes when a cluster runs or an
 * unclean stop left one: `up` uses the first, and removes the second before it checks again.
 * @throws ClusterProblem with every reason
 */
export async function requireStartable(options: ClusterOptions = {}): Promise<void> {
  requireLinuxRoot();
  requirePackages();
  const layout = resolve(options.home);
  if (existsSync(layout.run)) return;
  await requireFitMachine(layout, defaultIngressPorts);
}

/** Whether all processes run. Waits until they are healthy: restarting a busy cluster would be worse than waiting. */
async function isRunning(layout: Layout, ingress: IngressPorts): Promise<boolean> {
  if (summarise(processStatuses(layout)).state !== 'up') return false;
  const current = ingressPortsOf(layout);
  if (current.web !== ingress.web || current.websecure !== ingress.websecure || current.admin !== ingress.admin) {
    throw new ClusterProblem(
      `The test cluster already runs with ingress port ${current.web}. Stop it first: npm run testcluster -- down`,
    );
  }
  await awaitHealth(layout, ingress);
  return true;
}

/**
 * Stops the cluster and removes everything that it added to the machine except the built binaries, also after a crash
 * or a failed start.
 * @returns whether there was anything to remove
 * @throws ClusterProblem when the machine is not supported (`exitCode` 2), or something cannot be killed or unmounted
 * (1)
 */
export async function down(options: ClusterOptions = {}): Promise<boolean> {
  requireLinuxRoot();
  const layout = resolve(options.home);
  const progress = options.progress ?? silentProgress;
  return withLock(layout.lock, lockSeconds, reportWait(progress), () => tearDown(layout, progress));
}

function reportWait(progress: Progress): () => void {
  return () => progress.note('waiting for another command that is changing the test cluster ...');
}

/** The health of every part. Never throws when the cluster is not up. */
export function status(options: ClusterOptions = {}): Promise<ClusterStatus> {
  const layout = resolve(options.home);
  return inspectAll(layout, ingressPortsOf(layout));
}

/** Addresses and folders of the running cluster, or of one to be started. Creates nothing. */
export function paths(options: ClusterOptions = {}): ClusterPaths {
  const layout = layoutOf(options.home ?? defaultHome());
  const ingress = ingressPortsOf(layout);
  return {
    home: layout.home,
    kubeconfig: layout.kubeconfig,
    registry: `localhost:${ports.registry}`,
    registryForPods: `http://${node.address}:${ports.registry}`,
    ingressPort: ingress.web,
    ingressTlsPort: ingress.websecure,
    binDir: layout.bin,
    containerdSocket: layout.containerdSocket,
    logs: layout.logs,
  };
}

/** The folders under a home folder, by its real path, since mounts and sockets are listed by theirs. */
function resolve(home: string = defaultHome()): Layout {
  mkdirSync(home, { recursive: true });
  const layout = layoutOf(realpathSync(home));
  if (layout.containerdSocket.length > longestSocketPath) {
    const maxLength = longestSocketPath - join('/', 'run', 'containerd.sock').length;
    throw new ClusterProblem(
      `The path ${dirname(layout.run)} is too long for Unix sockets. Use one of at most ${maxLength} characters.`,
      2,
    );
  }
  return layout;
}
