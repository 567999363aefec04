import { chmod, copyFile, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { createEventRecorder } from '../../../runtime/kube/events.ts';
import { createInformers } from '../../../runtime/kube/informers.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { createPortPool } from './binding.ts';
import type { ImageStore } from './images.ts';
import { readLog, type LogOptions } from './log-reader.ts';
import { createLogWatch } from './log-watch.ts';
import type { CollectLines } from './logs.ts';
import { createMemoryWatch } from './memory.ts';
import { killOrphans } from './orphans.ts';
import type { NodePod } from './pod-spec.ts';
import { reachablePath } from '../reachable-path.ts';
import type { Streams } from './process-group.ts';
import { createPodWorker, type PodWorker } from './pod-worker.ts';
import type { PodRuntime } from './pod-context.ts';
import type { Terminal } from './terminal.ts';
import { createUsageMeter } from './usage.ts';
import { createServiceProxy } from './service-proxy.ts';
import { openUserNames, type UserNames } from './user-names.ts';
import { openUsers, removeTree } from './users.ts';
import type { IssueToken } from './volumes.ts';

/** In container images tini is the first process. Here it only runs the given program. */
const tini = '#!/bin/sh\n[ "$1" = -- ] && shift\nexec "$@"\n';

/**
 * The node of the embedded cluster: runs all pods as processes of this machine
 * (docs/decisions/0009-pods-as-processes.md).
 */
export interface LocalNode {
  /** Kills what an earlier node left running, then starts all pods. Resolves when the node accepts pods. */
  start(): Promise<void>;
  /** Stops the processes of all pods. The pods stay and run again after the next start. */
  stop(): Promise<void>;
  /** CPU and memory of the workloads that run, in Prometheus's text format. */
  usage(): string;
  /** Lines of a container's log. */
  logs(pod: { uid: string; container: string }, options: LogOptions, signal: AbortSignal): AsyncIterable<string>;
  /**
   * Runs a command in a container, as `kubectl exec` does. @returns its exit code
   * @throws Error when the container is not running or the command cannot be started
   */
  exec(
    pod: { uid: string; container: string },
    run: { command: readonly string[]; terminal?: Terminal },
    streams: Streams,
    signal: AbortSignal,
  ): Promise<number>;
}

export interface LocalNodeOptions {
  kube: KubeClient;
  clock: Clock;
  log: Logger;
  images: ImageStore;
  /** The node's folder: pods, claims and the hosts file. Keep the path short: programs create Unix sockets below it. */
  folder: string;
  issueToken: IssueToken;
  apiServer: PodRuntime['apiServer'];
  /**
   * Where to write the copy of /etc/passwd that gives the users of pods names, if this process runs as root. It needs a
   * mount namespace of its own. Default: the users have no names.
   */
  passwd?: string | undefined;
  /** The PATH of pods; default the system's. */
  path?: string;
  /** Ports for pods; default 20000–29999. */
  portRange?: { first: number; last: number };
  /** Wait between restarts of a failing container; default 10 s, doubling up to 5 min. */
  backOff?: { baseMs: number; maxMs: number };
  /** Takes what containers print. */
  collect?: CollectLines | undefined;
  /** Maximum seconds that pods may take to stop when the node stops; default 10. */
  stopSeconds?: number;
}

/** The PATH of pods, unless an option says another. */
export const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export function createLocalNode(options: LocalNodeOptions): LocalNode {
  const { kube, clock, folder, images, issueToken, apiServer, stopSeconds = 10, portRange, backOff, passwd } = options;
  const isRoot = process.getuid?.() === 0;
  const log = options.log.child({ part: 'node' });
  const informers = createInformers({ kube, clock, log });
  const pods = informers.of<NodePod>(kinds.Pod);
  const claims = informers.of(kinds.PersistentVolumeClaim);
  const events = createEventRecorder({ kube, component: 'kubelet', clock, log });
  const memory = createMemoryWatch(clock);
  const hostsFile = join(folder, 'hosts');
  const programs = join(folder, 'bin');
  const podsFolder = join(folder, 'pods');
  const proxy = createServiceProxy({ informers, events, hostsFile, log });
  const workers = new Map<string, PodWorker>();
  const usage = createUsageMeter();
  let stopping = false;
  let userNames: UserNames | undefined;

  const runtime: PodRuntime = {
    kube,
    clock,
    log,
    events,
    memory,
    collect: options.collect,
    logWatch: createLogWatch(),
    programs,
    images,
    issueToken,
    apiServer,
    hostsFile,
    nodeName: 'local',
    pods: podsFolder,
    claims: join(folder, 'claims'),
    ports: createPortPool(portRange),
    variables: {
      PATH: options.path ?? systemPath,
      SVC_HOSTS_FILE: hostsFile,
      // Without these, Node.js and the C library size their short-lived memory by the machine.
      NODE_OPTIONS: `--require=${JSON.stringify(join(programs, 'preload.cjs'))} --max-semi-space-size=4`,
      PYTHONPATH: join(programs, 'python'),
      MALLOC_ARENA_MAX: '1',
      // A pod with a user of its own can neither read nor write what others have compiled.
      ...(!isRoot && { NODE_COMPILE_CACHE: join(folder, 'compile-cache') }),
    },
    ...(backOff && { backOff }),
  };

  const runPod = (pod: Stored<NodePod>) => {
    if (stopping) return;
    const { uid, deletionTimestamp } = pod.metadata;
    const existing = workers.get(uid);
    if (existing) {
      existing.update(pod);
      return;
    }
    const { nodeName } = pod.spec;
    if (nodeName !== undefined && nodeName !== runtime.nodeName) return;
    const hasEnded = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    if (hasEnded && deletionTimestamp === undefined) return;
    const worker = createPodWorker(runtime, pod);
    workers.set(uid, worker);
    void removeWhenDone(pod, worker);
  };

  const removeWhenDone = async (pod: Stored<NodePod>, worker: PodWorker) => {
    await worker.done;
    const { uid, name, namespace } = pod.metadata;
    workers.delete(uid);
    // The pod may have been deleted at the moment it ended.
    const current = pods.get(name, namespace);
    if (current?.metadata.uid === uid && current.metadata.deletionTimestamp !== undefined) runPod(current);
  };

  const removePod = async ({ metadata: { uid } }: Stored<NodePod>) => {
    const worker = workers.get(uid);
    if (worker) await worker.abandon();
    else await remove(join(podsFolder, uid));
  };

  const remove = (path: string) => (isRoot ? removeTree(path) : rm(path, { recursive: true, force: true }));

  const prepare = async () => {
    // The pods' folders contain Secrets, so only the owner may enter them. Pods with users of their own need to pass, and
    // each pod's folder has its own mode.
    for (const [path, mode] of [
      [folder, 0o711],
      [podsFolder, isRoot ? 0o711 : 0o700],
      [runtime.claims, isRoot ? 0o711 : 0o700],
    ] as const) {
      await mkdir(path, { recursive: true });
      await chmod(path, mode);
    }
    await mkdir(programs, { recursive: true });
    await copyFile(join(import.meta.dirname, 'preload.cjs'), join(programs, 'preload.cjs'));
    await mkdir(join(programs, 'python'), { recursive: true });
    await copyFile(join(import.meta.dirname, 'sitecustomize.py'), join(programs, 'python', 'sitecustomize.py'));
    await writeFile(join(programs, 'tini'), tini);
    await chmod(join(programs, 'tini'), 0o755);
    await rm(join(programs, 'node'), { force: true });
    await symlink(reachablePath(process.execPath, join(folder, 'copies')), join(programs, 'node'));
    const ended = await killOrphans(podsFolder);
    if (ended > 0) log.warn({ containers: ended }, 'killed containers of an earlier node');
    if (isRoot) {
      userNames = passwd === undefined ? undefined : openUserNames(passwd, log);
      runtime.users = openUsers({ node: folder, pods: podsFolder, claims: runtime.claims }, userNames);
    }
  };

  return {
    async start() {
      await prepare();
      informers.start();
      await informers.whenSynced();
      const present = new Set(pods.list().map(({ metadata }) => metadata.uid));
      for (const uid of await readdir(podsFolder)) {
        if (!present.has(uid)) await remove(join(podsFolder, uid));
      }
      claims.onChange(({ type, object }) => {
        if (type !== 'deleted') return;
        const claim = join(runtime.claims, object.metadata.uid);
        remove(claim).catch((error: unknown) => log.error({ err: error, claim }, 'claim folder not deleted'));
      });
      proxy.start();
      pods.onChange(({ type, object }) => {
        if (type !== 'deleted') runPod(object);
        else removePod(object).catch((error: unknown) => log.error({ err: error }, 'pod folder not deleted'));
      });
      for (const pod of pods.list()) runPod(pod);
    },
    async stop() {
      stopping = true;
      await Promise.all([...workers.values()].map((worker) => worker.stop(stopSeconds)));
      await proxy.stop();
      await memory.stop();
      await informers.stop();
      userNames?.stop();
    },
    usage() {
      const running = pods.list().flatMap((pod) => {
        const leaders = workers.get(pod.metadata.uid)?.leaders() ?? [];
        return leaders.map((leader) => ({ pod, leader }));
      });
      return usage.measure(running);
    },
    async exec({ uid, container }, { command, terminal }, streams, signal) {
      const running = workers.get(uid)?.running(container);
      if (!running) throw new Error(`container not found ("${container}"): it is not running`);
      return running.execute(command, signal, streams, terminal);
    },
    logs({ uid, container }, logOptions, signal) {
      const watch = runtime.logWatch;
      return readLog(join(podsFolder, uid, 'containers', container), logOptions, { clock, signal, watch });
    },
  };
}
