import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import { timestamp } from '../controllers/objects.ts';
import { declaredPorts } from './binding.ts';
import { messageOf, runContainer } from './container-runs.ts';
import type { RunningContainer } from './container.ts';
import { storeBinding } from './pod-binding.ts';
import { recordEvent, retry, type PodContext, type PodRuntime } from './pod-context.ts';
import { allContainers, type NodePod } from './pod-spec.ts';
import { createSlot, type Role } from './slot.ts';
import { createStatusWriter } from './status-writer.ts';
import { phaseOf } from './status.ts';
import { mountVolumes } from './volumes.ts';

/** How often volumes take over changes of Secrets and ConfigMaps; Kubernetes takes about as long. */
const refreshMs = 60_000;
/** How often to check whether a sidecar has started. */
const sidecarPollMs = 50;

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
  /** Resolves when nothing of the pod runs any more and its status is written. */
  readonly done: Promise<void>;
}

/** Starts to work on a pod immediately. */
export function createPodWorker(runtime: PodRuntime, first: Stored<NodePod>): PodWorker {
  const { kube, clock, ports } = runtime;
  const { name, namespace, uid } = first.metadata;
  const { terminationGracePeriodSeconds = 30 } = first.spec;
  const createSlots = (pod: Stored<NodePod>) =>
    allContainers(pod).map((container) => createSlot(pod, container, timestamp(clock.now())));
  const context: PodContext = {
    runtime,
    log: runtime.log.child({ pod: name, namespace }),
    folder: join(runtime.pods, uid),
    pod: first,
    slots: createSlots(first),
    volumes: new Map(),
    stopping: new AbortController(),
    silencing: new AbortController(),
  };
  const { log, folder, stopping, silencing } = context;
  const { signal } = stopping;
  const status = createStatusWriter(context);
  let ending: Promise<void> | undefined;

  const sleep = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  const hasFailed = () => phaseOf(context.slots) === 'Failed';
  const mount = () => mountVolumes(runtime, context.pod, join(folder, 'volumes'));

  /** Binds the pod and makes its volumes. @returns whether its containers may start */
  const prepare = async (): Promise<boolean> => {
    const bound = await storeBinding(context);
    if (!bound) return false;
    context.pod = bound;
    context.slots = createSlots(bound);
    status.report();
    const volumes = await retry(context, signal, mount, (error) =>
      recordEvent(context, 'Warning', 'FailedMount', messageOf(error)),
    );
    context.volumes = volumes ?? context.volumes;
    return volumes !== undefined;
  };
  const refreshVolumes = async () => {
    for (await sleep(refreshMs); !signal.aborted; await sleep(refreshMs)) {
      await mount().catch((error: unknown) => log.debug({ err: error }, 'volumes not updated'));
    }
  };

  const work = async (): Promise<void> => {
    const { slots: previous } = context;
    // The pod ended with the last node and does not restart: only its status is left to report.
    if (previous.every(({ role, willRestart }) => role !== 'main' || !willRestart) || !(await prepare())) return;
    const { slots } = context;
    const run = (slot: (typeof slots)[number]) => runContainer(context, slot, { report: status.report, update });
    const background = [refreshVolumes()];
    for (const slot of slots.filter(({ role }) => role !== 'main')) {
      if (signal.aborted || hasFailed()) break;
      if (slot.role === 'init') await run(slot);
      else {
        background.push(run(slot));
        while (!signal.aborted && !slot.running?.started()) await sleep(sidecarPollMs);
      }
    }
    if (!signal.aborted && !hasFailed()) {
      await Promise.all(slots.filter(({ role, willRestart }) => role === 'main' && willRestart).map(run));
    }
    // Sidecars stop after the main containers and do not restart then.
    stopping.abort(new Error('the pod ended'));
    await stopContainers(['sidecar'], terminationGracePeriodSeconds);
    await Promise.all(background);
  };

  const stopContainers = async (roles: readonly Role[], graceSeconds: number) => {
    for (const role of roles) {
      const containers = context.slots.filter((slot) => slot.role === role).flatMap(({ running }) => running ?? []);
      await Promise.all(containers.map((container) => container.stop(graceSeconds)));
    }
  };
  const end = (graceSeconds: number) => {
    stopping.abort(new Error('the pod is being stopped'));
    ending ??= stopContainers(['init', 'main', 'sidecar'], graceSeconds);
  };

  const finish = async (): Promise<void> => {
    await work().catch((error: unknown) => log.error({ err: error }, 'pod failed'));
    await ending;
    await status.flush();
    ports.release(declaredPorts(allContainers(context.pod)));
    if (context.pod.metadata.deletionTimestamp === undefined || silencing.signal.aborted) return;
    await rm(folder, { recursive: true, force: true });
    await retry(context, silencing.signal, deleteObject, (error) => log.warn({ err: error }, 'pod not deleted'));
  };
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
      await rm(folder, { recursive: true, force: true });
    },
    running: (container) => context.slots.find((slot) => slot.name === container)?.running,
    stop: (graceSeconds) => endWithin(Math.min(graceSeconds, terminationGracePeriodSeconds)),
    done,
  };
}
