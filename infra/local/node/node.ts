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
import { readLog, type LogOptions } from './logs.ts';
import { createMemoryWatch } from './memory.ts';
import { endOrphans } from './orphans.ts';
import type { NodePod } from './pod-spec.ts';
import type { Streams } from './process-group.ts';
import { createPodWorker, type PodRuntime, type PodWorker } from './pod-worker.ts';
import { createServiceProxy } from './service-proxy.ts';
import type { IssueToken } from './volumes.ts';

/** Container images carry it as their first process; here it only becomes the program that it is given. */
const tini = '#!/bin/sh\n[ "$1" = -- ] && shift\nexec "$@"\n';

/** The one machine of the embedded default: runs all pods as processes (decision 0009). */
export interface LocalNode {
  /** Ends what a node before it left running, then runs every pod. Resolves when it takes pods. */
  start(): Promise<void>;
  /** Ends every pod's processes; the pods stay, and run again at the next start. */
  stop(): Promise<void>;
  /** A container's log, in lines. */
  logs(pod: { uid: string; container: string }, options: LogOptions, signal: AbortSignal): AsyncIterable<string>;
  /**
   * Runs a command beside a container's program, as `kubectl exec` does. @returns its exit code
   * @throws Error when the container does not run, or the command cannot be started
   */
  exec(
    pod: { uid: string; container: string },
    command: readonly string[],
    streams: Streams,
    signal: AbortSignal,
  ): Promise<number>;
}

export interface LocalNodeOptions {
  kube: KubeClient;
  clock: Clock;
  log: Logger;
  images: ImageStore;
  /** Everything of the node: pods, claims, its file of hosts. Short, since sockets of programs lie below it. */
  folder: string;
  issueToken: IssueToken;
  apiServer: PodRuntime['apiServer'];
  /** The search path of programs that pods may run; default the system's. */
  path?: string;
  /** Port numbers for pods; default 20000–29999. */
  portRange?: { first: number; last: number };
  /** Wait between restarts of a failing container; default 10 s, doubling up to 5 min. */
  backOff?: { baseMs: number; maxMs: number };
  /** How long pods may take to end when the node stops, at most; default 10. */
  stopSeconds?: number;
}

export function createLocalNode(options: LocalNodeOptions): LocalNode {
  const { kube, clock, folder, images, issueToken, apiServer, stopSeconds = 10, portRange, backOff } = options;
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
  let stopping = false;

  const runtime: PodRuntime = {
    ...{ kube, clock, log, events, memory, programs, images, issueToken, apiServer, hostsFile },
    nodeName: 'local',
    pods: podsFolder,
    claims: join(folder, 'claims'),
    ports: createPortPool(portRange),
    variables: {
      PATH: options.path ?? '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
      SVC_HOSTS_FILE: hostsFile,
      // Left to themselves, Node and the C library size their room for what is short-lived by the machine.
      NODE_OPTIONS: `--require=${JSON.stringify(join(programs, 'preload.cjs'))} --max-semi-space-size=4`,
      PYTHONPATH: join(programs, 'python'),
      MALLOC_ARENA_MAX: '1',
      NODE_COMPILE_CACHE: join(folder, 'compile-cache'),
    },
    ...(backOff && { backOff }),
  };

  const take = (pod: Stored<NodePod>) => {
    if (stopping) return;
    const { uid, deletionTimestamp } = pod.metadata;
    const known = workers.get(uid);
    if (known) {
      known.update(pod);
      return;
    }
    const { nodeName } = pod.spec;
    if (nodeName !== undefined && nodeName !== runtime.nodeName) return;
    const over = pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
    if (over && deletionTimestamp === undefined) return;
    const worker = createPodWorker(runtime, pod);
    workers.set(uid, worker);
    void settle(pod, worker);
  };

  const settle = async (pod: Stored<NodePod>, worker: PodWorker) => {
    await worker.done;
    const { uid, name, namespace } = pod.metadata;
    workers.delete(uid);
    // It was deleted in the moment in which it ended.
    const now = pods.get(name, namespace);
    if (now?.metadata.uid === uid && now.metadata.deletionTimestamp !== undefined) take(now);
  };

  const forget = async ({ metadata: { uid } }: Stored<NodePod>) => {
    const worker = workers.get(uid);
    if (worker) await worker.abandon();
    else await rm(join(podsFolder, uid), { recursive: true, force: true });
  };

  const prepare = async () => {
    // Secrets lie in the pods' folders; a server that gives up root must still reach its claim.
    await mkdir(folder, { recursive: true, mode: 0o711 });
    await mkdir(podsFolder, { recursive: true, mode: 0o700 });
    await mkdir(programs, { recursive: true });
    await copyFile(join(import.meta.dirname, 'preload.cjs'), join(programs, 'preload.cjs'));
    await mkdir(join(programs, 'python'), { recursive: true });
    await copyFile(join(import.meta.dirname, 'sitecustomize.py'), join(programs, 'python', 'sitecustomize.py'));
    await writeFile(join(programs, 'tini'), tini);
    await chmod(join(programs, 'tini'), 0o755);
    await rm(join(programs, 'node'), { force: true });
    await symlink(process.execPath, join(programs, 'node'));
    const ended = await endOrphans(podsFolder);
    if (ended > 0) log.warn({ containers: ended }, 'ended what an earlier node left running');
  };

  return {
    async start() {
      await prepare();
      informers.start();
      await informers.whenSynced();
      const present = new Set(pods.list().map(({ metadata }) => metadata.uid));
      for (const uid of await readdir(podsFolder)) {
        if (!present.has(uid)) await rm(join(podsFolder, uid), { recursive: true, force: true });
      }
      claims.onChange(({ type, object }) => {
        if (type !== 'deleted') return;
        const claim = join(runtime.claims, object.metadata.uid);
        rm(claim, { recursive: true, force: true }).catch((error: unknown) =>
          log.error({ err: error, claim }, 'claim not removed'),
        );
      });
      proxy.start();
      pods.onChange(({ type, object }) => {
        if (type !== 'deleted') take(object);
        else forget(object).catch((error: unknown) => log.error({ err: error }, 'pod folder not removed'));
      });
      for (const pod of pods.list()) take(pod);
    },
    async stop() {
      stopping = true;
      await Promise.all([...workers.values()].map((worker) => worker.stop(stopSeconds)));
      await proxy.stop();
      await memory.stop();
      await informers.stop();
    },
    async exec({ uid, container }, command, streams, signal) {
      const life = workers.get(uid)?.life(container);
      if (!life) throw new Error(`container not found ("${container}"): it does not run`);
      return life.execute(command, signal, streams);
    },
    logs({ uid, container }, logOptions, signal) {
      const isRunning = () => workers.get(uid)?.life(container) !== undefined;
      return readLog(join(podsFolder, uid, 'containers', container), logOptions, { clock, signal, isRunning });
    },
  };
}
