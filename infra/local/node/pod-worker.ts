import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import { declaredPorts } from './binding.ts';
import type { RunningContainer } from './container.ts';
import { retry, type PodContext, type PodRuntime } from './pod-context.ts';
import { createSlots, defaultGraceSeconds, runPod, stopContainers } from './pod-run.ts';
import { allContainers, type NodePod } from './pod-spec.ts';
import { createStatusWriter } from './status-writer.ts';
import { removeTree } from './users.ts';

/** Starts, watches, restarts and stops a pod's containers, and reports their status. */
export interface PodWorker {
  /** Takes over the pod's newest version. A pod that is being deleted is stopped. */
  update(pod: Stored<NodePod>): void;
  /** Kills the containers and removes the pod's files, because its object is gone. */
  abandon(): Promise<void>;
  /** Stops the containers because the node stops. The object stays, and the next node starts the pod again. */
  stop(graceSeconds: number): Promise<void>;
  /** The current run of a container. */
  running(container: string): RunningContainer | undefined;
  /** The first process of each running container. */
  leaders(): number[];
  /** Resolves when nothing of the pod runs any more and its status is written. */
  readonly done: Promise<void>;
}

/** Starts to work on a pod immediately. */
export function createPodWorker(runtime: PodRuntime, first: Stored<NodePod>): PodWorker {
  const { kube, clock, ports } = runtime;
  const { name, namespace, uid } = first.metadata;
  const { terminationGracePeriodSeconds = defaultGraceSeconds } = first.spec;
  const context: PodContext = {
    runtime,
    log: runtime.log.child({ pod: name, namespace }),
    folder: join(runtime.pods, uid),
    pod: first,
    slots: createSlots(first, clock.now()),
    volumes: new Map(),
    mountedVolumes: new Set(),
    user: undefined,
    stopping: new AbortController(),
    silencing: new AbortController(),
  };
  const { log, folder, stopping, silencing } = context;
  const status = createStatusWriter(context);
  let ending: Promise<void> | undefined;

  const end = (graceSeconds: number) => {
    stopping.abort(new Error('the pod is being stopped'));
    ending ??= stopContainers(context, ['init', 'main', 'sidecar'], graceSeconds);
  };

  const finish = async (): Promise<void> => {
    await runPod(context, { report: status.report, update }).catch((error: unknown) =>
      log.error({ err: error }, 'pod failed'),
    );
    await ending;
    runtime.users?.killProcesses(folder);
    runtime.users?.release(folder);
    await status.flush();
    ports.release(declaredPorts(allContainers(context.pod)));
    if (context.pod.metadata.deletionTimestamp === undefined || silencing.signal.aborted) return;
    await removeFolder();
    await retry(context, silencing.signal, deleteObject, (error) => log.warn({ err: error }, 'pod not deleted'));
  };
  const removeFolder = () => (runtime.users ? removeTree(folder) : rm(folder, { recursive: true, force: true }));
  const deleteObject = async () => {
    try {
      await kube.delete(refOf(context.pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      // 409: another pod has this name now.
      if (!isKubeError(error, 409)) throw error;
    }
  };

  const update = (next: Stored<NodePod>) => {
    // Only this worker writes the status, so its own copy is newer.
    const { status: ownStatus = next.status } = context.pod;
    context.pod = { ...next, ...(ownStatus && { status: ownStatus }) };
    if (next.metadata.deletionTimestamp !== undefined) {
      end(next.metadata.deletionGracePeriodSeconds ?? terminationGracePeriodSeconds);
    }
  };
  const done = finish();
  update(first);

  /** Stops the containers and kills those that still run after the grace period, even if an earlier one was longer. */
  const endWithin = async (graceSeconds: number) => {
    silencing.abort(new Error('the pod is no longer reported'));
    end(graceSeconds);
    const ended = new AbortController();
    const kill = () => context.slots.forEach(({ running }) => running?.kill());
    const killing = clock.sleep(graceSeconds * 1000, ended.signal).then(kill, () => undefined);
    await done;
    ended.abort();
    await killing;
  };

  return {
    update,
    async abandon() {
      await endWithin(0);
      await removeFolder();
    },
    running: (container) => context.slots.find((slot) => slot.name === container)?.running,
    leaders: () => context.slots.flatMap(({ running }) => (running ? [running.leader] : [])),
    stop: (graceSeconds) => endWithin(Math.min(graceSeconds, terminationGracePeriodSeconds)),
    done,
  };
}
