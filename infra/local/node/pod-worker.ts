import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { EventRecorder } from '../../../runtime/kube/events.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import { timestamp } from '../controllers/objects.ts';
import { bind, declaredPorts, lostPorts, type PortPool } from './binding.ts';
import { ImageError, startContainer, type ContainerLife, type Ended } from './container.ts';
import { ConfigError } from './environment.ts';
import { allContainers, type NodePod } from './pod-spec.ts';
import { StartError } from './process-group.ts';
import { podAddress, type ContainerRuntime } from './program.ts';
import { isRestarted, slotOf, type Role, type Slot } from './slot.ts';
import { phaseOf, sameStatus, statusOf } from './status.ts';
import { mountVolumes, type VolumeSources } from './volumes.ts';

/** Wait before the n-th restart of a container after the first, which is at once; a life of ten minutes begins anew. */
const defaultBackOff = { baseMs: 10_000, maxMs: 300_000 };
const provenMs = 600_000;
/** Wait before another try when something that a pod needs is missing. */
const missingMs = { baseMs: 500, maxMs: 10_000 };
/** How often Secrets and the like are looked at for changes; Kubernetes takes about as long. */
const refreshMs = 60_000;

/** What pods of one node share. */
export interface PodRuntime extends ContainerRuntime, VolumeSources {
  kube: ContainerRuntime['kube'];
  /** Folder of all pods, one for each uid. */
  pods: string;
  nodeName: string;
  ports: PortPool;
  events: EventRecorder;
  log: Logger;
  backOff?: { baseMs: number; maxMs: number };
}

/** The one who starts, watches, restarts and ends a pod's containers, and reports of them. */
export interface PodWorker {
  /** The pod as it is now: one that is to go is ended. */
  update(pod: Stored<NodePod>): void;
  /** Its object is gone: ends its containers at once and removes what they had. */
  abandon(): Promise<void>;
  /** Ends its containers because the node stops; the object stays, and the next node starts it again. */
  stop(graceSeconds: number): Promise<void>;
  /** The life that a container has now. */
  life(container: string): ContainerLife | undefined;
  /** Resolves when nothing of it runs any more and everything is reported. */
  readonly done: Promise<void>;
}

/** Starts working on a pod at once. */
export function createPodWorker(runtime: PodRuntime, first: Stored<NodePod>): PodWorker {
  const { kube, clock, events, ports } = runtime;
  const { name, namespace, uid } = first.metadata;
  const { terminationGracePeriodSeconds = 30 } = first.spec;
  const log = runtime.log.child({ pod: name, namespace });
  const folder = join(runtime.pods, uid);
  const startTime = first.status?.startTime ?? timestamp(clock.now());
  /** No container is started any more; nothing is reported any more. */
  const [stopping, silencing] = [new AbortController(), new AbortController()];
  const { signal } = stopping;
  const slotsOf = (of: Stored<NodePod>) =>
    allContainers(of).map((container) => slotOf(of, container, timestamp(clock.now())));
  let pod = first;
  let slots = slotsOf(first);
  let volumes = new Map<string, string>();
  let ending: Promise<void> | undefined;
  let reporting: Promise<void> | undefined;
  let dirty = false;

  const tell = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    void events.record(pod, { type, reason, message });
  const sleep = (ms: number) => clock.sleep(ms, signal).catch(() => undefined);
  const livePod = () => kube.get<NodePod>(kinds.Pod, name, namespace);
  const isGone = () =>
    livePod().then(
      (live) => live === undefined,
      () => false,
    );

  /** Tries until it succeeds, since what is missing may come; not after the signal, or when the pod is gone. */
  const insist = async <T>(
    until: AbortSignal,
    attempt: () => Promise<T>,
    explain: (error: unknown) => void,
  ): Promise<T | undefined> => {
    for (let failures = 0; !until.aborted; failures++) {
      try {
        return await attempt();
      } catch (error) {
        if (isKubeError(error, 404) && (await isGone())) return undefined;
        explain(error);
        await clock.sleep(Math.min(missingMs.maxMs, missingMs.baseMs * 2 ** failures), until).catch(() => undefined);
      }
    }
    return undefined;
  };

  const report = () => {
    dirty = true;
    reporting ??= write();
  };
  const write = async () => {
    // What changes together is reported together.
    await Promise.resolve();
    while (dirty && !silencing.signal.aborted) {
      dirty = false;
      await insist(silencing.signal, writeStatus, (error) => log.warn({ err: error }, 'pod status not written'));
    }
    reporting = undefined;
  };
  const writeStatus = async () => {
    const now = timestamp(clock.now());
    const status = statusOf(slots, { address: podAddress, startTime, now, before: pod.status });
    if (sameStatus(pod.status, status)) return;
    try {
      pod = await kube.mergePatch<NodePod>(refOf(pod), { metadata: { uid }, status }, 'status');
    } catch (error) {
      // Another object by now.
      if (!isKubeError(error, 409)) throw error;
    }
  };

  const bindLive = async (lost?: readonly number[]) => {
    const live = await livePod();
    if (live?.metadata.uid !== uid) return undefined;
    const wanted = await bind(live, runtime.nodeName, ports, lost);
    if (wanted === live) return live;
    return kube.replace(wanted).catch((error: unknown) => {
      // Another try takes them again, or others.
      const kept = lost ? declaredPorts(allContainers(live)) : [];
      ports.release(declaredPorts(allContainers(wanted)).filter((port) => !kept.includes(port)));
      throw error;
    });
  };
  const insistOnBinding = (lost?: readonly number[]) =>
    insist(
      signal,
      () => bindLive(lost),
      (error) => {
        if (!isKubeError(error, 409)) log.warn({ err: error }, 'pod not bound');
      },
    );
  const mount = () => mountVolumes(runtime, pod, join(folder, 'volumes'));
  const prepare = async (): Promise<boolean> => {
    const bound = await insistOnBinding();
    if (!bound) return false;
    pod = bound;
    slots = slotsOf(bound);
    report();
    const mounted = await insist(signal, mount, (error) => tell('Warning', 'FailedMount', messageOf(error)));
    volumes = mounted ?? volumes;
    return mounted !== undefined;
  };
  const refresh = async () => {
    for (await sleep(refreshMs); !signal.aborted; await sleep(refreshMs)) {
      await mount().catch((error: unknown) => log.debug({ err: error }, 'volumes not brought up to date'));
    }
  };

  const start = (slot: Slot): Promise<ContainerLife | undefined> => {
    const { container, restarts: life } = slot;
    const place = { pod, container, folder: join(folder, 'containers', slot.name), volumes, life };
    let remarked: string | undefined;
    const onChange = () => {
      const remark = slot.life?.remark();
      if (remark !== undefined && remark !== remarked) tell('Warning', 'PortIgnored', `${slot.name}: ${remark}`);
      remarked = remark;
      report();
    };
    return insist(
      signal,
      () => startContainer(runtime, place, onChange),
      (error) => {
        const reason = reasonOf(error);
        slot.state = { waiting: { reason, message: messageOf(error) } };
        tell('Warning', reason === 'ErrImagePull' ? 'Failed' : reason, messageOf(error));
        report();
      },
    );
  };

  /** One life of a container, reported. */
  const live = async (slot: Slot): Promise<Ended | undefined> => {
    const life = await start(slot);
    if (!life) return undefined;
    slot.life = life;
    slot.imageID = life.imageID;
    slot.state = { running: { startedAt: life.startedAt } };
    // Ended while it was being started.
    if (signal.aborted) void life.stop(0);
    report();
    const ended = await life.exited;
    slot.life = undefined;
    slot.state = { terminated: ended };
    return ended;
  };

  /** All lives of a container; resolves when it has ended for good. */
  const run = async (slot: Slot): Promise<void> => {
    let failures = 0;
    while (!signal.aborted) {
      const begun = clock.monotonic();
      const ended = await live(slot);
      if (!ended) return;
      slot.again = !signal.aborted && isRestarted(pod, slot.role, ended.exitCode);
      report();
      if (!slot.again) return;
      slot.lastState = slot.state;
      failures = clock.monotonic() - begun >= provenMs ? 1 : failures + 1;
      if (failures > 1) await backOff(slot, failures - 2);
      slot.restarts += 1;
      await keepPorts(slot);
    }
  };
  /** Another program may have taken a port while nobody listened at it: the next life gets another one. */
  const keepPorts = async (slot: Slot): Promise<void> => {
    const lost = await lostPorts(slot.container);
    if (lost.length === 0) return;
    const bound = await insistOnBinding(lost);
    if (!bound) return;
    ports.release(lost);
    update(bound);
    slot.container = allContainers(bound).find((container) => container.name === slot.name) ?? slot.container;
    tell(
      'Warning',
      'PortTaken',
      `${slot.name}: another program listens at port ${lost.join(', ')}; it gets another one`,
    );
  };
  const backOff = async (slot: Slot, power: number) => {
    const { baseMs, maxMs } = runtime.backOff ?? defaultBackOff;
    const ms = Math.min(maxMs, baseMs * 2 ** power);
    const message = `back-off ${ms / 1000}s restarting failed container=${slot.name} pod=${name}_${namespace}`;
    slot.state = { waiting: { reason: 'CrashLoopBackOff', message } };
    tell('Warning', 'BackOff', message);
    report();
    await sleep(ms);
  };

  const work = async (): Promise<void> => {
    // Lost with the last node and not to be started again: only that is left to report.
    if (slots.every(({ role, again }) => role !== 'main' || !again) || !(await prepare())) return;
    const beside = [refresh()];
    for (const slot of slots.filter(({ role }) => role !== 'main')) {
      if (signal.aborted || phaseOf(slots) === 'Failed') break;
      if (slot.role === 'init') await run(slot);
      else {
        beside.push(run(slot));
        // Until it may be counted on.
        while (!signal.aborted && !slot.life?.started()) await sleep(50);
      }
    }
    if (!signal.aborted && phaseOf(slots) !== 'Failed') {
      await Promise.all(slots.filter(({ role, again }) => role === 'main' && again).map(run));
    }
    // Sidecars end after what they serve, and are not started again from here on.
    stopping.abort(new Error('the pod ended'));
    await endContainers(['sidecar'], terminationGracePeriodSeconds);
    await Promise.all(beside);
  };

  const endContainers = async (roles: readonly Role[], graceSeconds: number) => {
    for (const role of roles) {
      const lives = slots.filter((slot) => slot.role === role).flatMap(({ life }) => life ?? []);
      await Promise.all(lives.map((life) => life.stop(graceSeconds)));
    }
  };
  const end = (graceSeconds: number) => {
    stopping.abort(new Error('the pod is to end'));
    ending ??= endContainers(['init', 'main', 'sidecar'], graceSeconds);
  };

  const finish = async (): Promise<void> => {
    await work().catch((error: unknown) => log.error({ err: error }, 'pod failed'));
    await ending;
    report();
    await reporting;
    ports.release(declaredPorts(allContainers(pod)));
    if (pod.metadata.deletionTimestamp === undefined || silencing.signal.aborted) return;
    await rm(folder, { recursive: true, force: true });
    await insist(silencing.signal, removeObject, (error) => log.warn({ err: error }, 'pod not removed'));
  };
  const removeObject = async () => {
    try {
      await kube.delete(refOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      // Another object by now.
      if (!isKubeError(error, 409)) throw error;
    }
  };

  const update = (next: Stored<NodePod>) => {
    // The status is written here only, so what is known of it is newer.
    const { status = next.status } = pod;
    pod = { ...next, ...(status && { status }) };
    if (next.metadata.deletionTimestamp !== undefined) {
      end(next.metadata.deletionGracePeriodSeconds ?? terminationGracePeriodSeconds);
    }
  };
  const done = finish();
  update(first);
  /** Ends it by then, whatever time it has been given before. */
  const endWithin = async (graceSeconds: number) => {
    silencing.abort(new Error('nobody is to hear of it'));
    end(graceSeconds);
    const ended = new AbortController();
    const kill = () => slots.forEach(({ life }) => life?.kill());
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
    life: (container) => slots.find((slot) => slot.name === container)?.life,
    stop: (graceSeconds) => endWithin(Math.min(graceSeconds, terminationGracePeriodSeconds)),
    done,
  };
}

function reasonOf(error: unknown): string {
  if (error instanceof ImageError) return 'ErrImagePull';
  if (error instanceof ConfigError) return 'CreateContainerConfigError';
  return error instanceof StartError ? 'RunContainerError' : 'CreateContainerError';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
