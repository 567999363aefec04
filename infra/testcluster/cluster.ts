import { mkdirSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { obtainBinaries } from './binaries.ts';
import { awaitHealth, bringUp } from './bringup.ts';
import type { ClusterStatus } from './health.ts';
import { inspect, processStatuses, summarise } from './health.ts';
import { packImages } from './images.ts';
import { withLock } from './lock.ts';
import { ClusterProblem } from './problem.ts';
import type { Progress } from './progress.ts';
import { silentProgress } from './progress.ts';
import { installPackages, requireLinuxRoot } from './requirements.ts';
import type { IngressPorts, Layout } from './settings.ts';
import { defaultHome, defaultIngressPorts, layoutOf, node, ports } from './settings.ts';
import { ingressPortsOf } from './state.ts';
import { tearDown } from './teardown.ts';

/** Which cluster is meant, and how to hear of progress. */
export interface ClusterOptions {
  /** Folder that holds everything; `SVC_TESTCLUSTER_HOME` or `~/.cache/svc/testcluster` unless told. */
  readonly home?: string;
  /** Told of each stage; nobody is unless told. */
  readonly progress?: Progress;
}

/** How to start. */
export interface UpOptions extends ClusterOptions {
  /** Ports on 127.0.0.1 for Traefik; those of the running cluster, else 18080, 18443 and 18079. */
  readonly ingress?: Partial<IngressPorts>;
}

/** Where things are; see {@link paths}. */
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

/** A Unix socket's path has at most 107 bytes, and containerd appends an ending of its own. */
const longestSocketPath = 100;

/**
 * Starts the cluster and returns once it serves: node ready, CoreDNS and Traefik available. One that is well is left
 * as it is; what an unclean stop left is removed first. Only one caller works at a time; others wait.
 * @returns how it is, which is `up`
 * @throws ClusterProblem when the machine cannot run it (`exitCode` 2) or it does not come up (1)
 */
export async function up(options: UpOptions = {}): Promise<ClusterStatus> {
  requireLinuxRoot();
  const layout = resolve(options.home);
  const progress = options.progress ?? silentProgress;
  await installPackages(progress);
  return withLock(layout.lock, lockSeconds, waiting(progress), async () => {
    const ingress = { ...ingressPortsOf(layout), ...options.ingress };
    if (await isRunning(layout, ingress)) return inspect(layout, ingress);
    const binaries = await obtainBinaries(layout.cache, progress);
    const images = await packImages(binaries);
    await tearDown(layout, progress);
    await bringUp(layout, { ...defaultIngressPorts, ...ingress }, { binaries, images }, progress);
    return inspect(layout, ingress);
  });
}

/** Whether all processes run. They are given time to be well: taking a busy cluster from its users is worse than waiting. */
async function isRunning(layout: Layout, ingress: IngressPorts): Promise<boolean> {
  if (summarise(processStatuses(layout)).state !== 'up') return false;
  const current = ingressPortsOf(layout);
  if (current.web !== ingress.web || current.websecure !== ingress.websecure || current.admin !== ingress.admin) {
    throw new ClusterProblem(`the cluster runs with other ingress ports (${current.web}); take it down first`);
  }
  await awaitHealth(layout, ingress);
  return true;
}

/**
 * Stops the cluster and removes everything that it added to the machine but the built binaries; also what is left of
 * one that crashed or never quite came up.
 * @returns whether there was anything to take down
 * @throws ClusterProblem when the machine is not fit (`exitCode` 2), or something cannot be killed or unmounted (1)
 */
export async function down(options: ClusterOptions = {}): Promise<boolean> {
  requireLinuxRoot();
  const layout = resolve(options.home);
  const progress = options.progress ?? silentProgress;
  return withLock(layout.lock, lockSeconds, waiting(progress), () => tearDown(layout, progress));
}

function waiting(progress: Progress): () => void {
  return () => progress.note('waiting for another command that works on the test cluster ...');
}

/** How every part is. Never throws for a cluster that is not up. */
export function status(options: ClusterOptions = {}): Promise<ClusterStatus> {
  const layout = resolve(options.home);
  return inspect(layout, ingressPortsOf(layout));
}

/** Where things are, of the running cluster or of one yet to be started. Nothing is made. */
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

/** The places under a home folder, by its real path: mounts and sockets are listed by theirs. */
function resolve(home: string = defaultHome()): Layout {
  mkdirSync(home, { recursive: true });
  const layout = layoutOf(realpathSync(home));
  if (layout.containerdSocket.length > longestSocketPath) {
    const longest = longestSocketPath - join('/', 'run', 'containerd.sock').length;
    throw new ClusterProblem(
      `${dirname(layout.run)} is too long for a socket's path: at most ${longest} characters`,
      2,
    );
  }
  return layout;
}
