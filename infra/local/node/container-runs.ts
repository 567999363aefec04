import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { findLostPorts } from './binding.ts';
import { ImageError, startContainer, type RunningContainer, type Termination } from './container.ts';
import { ConfigError } from './environment.ts';
import { storeBinding } from './pod-binding.ts';
import { recordEvent, retry, type PodContext } from './pod-context.ts';
import { allContainers, type NodePod } from './pod-spec.ts';
import { StartError } from './process-group.ts';
import { shouldRestart, type Slot } from './slot.ts';

/** The first restart is immediate; each further one waits, doubling up to `maxMs`. */
const defaultBackOff = { baseMs: 10_000, maxMs: 300_000 };
/** A run of this length resets the wait. */
const stableMs = 600_000;

/** How the runs of a container affect its pod. */
export interface PodHooks {
  /** Called after each change of the slot. */
  report: () => void;
  /** Called with the pod that was stored with other ports. */
  update: (pod: Stored<NodePod>) => void;
}

/** Runs a container until it has ended for good, restarting it as the pod's restart policy says. */
export async function runContainer(context: PodContext, slot: Slot, hooks: PodHooks): Promise<void> {
  const { clock } = context.runtime;
  const { signal } = context.stopping;
  let failures = 0;
  while (!signal.aborted) {
    const startedAt = clock.monotonic();
    const termination = await runOnce(context, slot, hooks);
    if (!termination) return;
    slot.willRestart = !signal.aborted && shouldRestart(context.pod, slot.role, termination.exitCode);
    hooks.report();
    if (!slot.willRestart) return;
    slot.lastState = slot.state;
    failures = clock.monotonic() - startedAt >= stableMs ? 1 : failures + 1;
    if (failures > 1) await backOff(context, slot, failures - 2, hooks);
    slot.restarts += 1;
    await replaceLostPorts(context, slot, hooks);
  }
}

/** @returns undefined when the pod stops or is gone before the container has started */
async function runOnce(context: PodContext, slot: Slot, hooks: PodHooks): Promise<Termination | undefined> {
  const running = await start(context, slot, hooks);
  if (!running) return undefined;
  slot.running = running;
  slot.imageID = running.imageID;
  slot.state = { running: { startedAt: running.startedAt } };
  // The pod may have been stopped while the container started.
  if (context.stopping.signal.aborted) void running.stop(0);
  hooks.report();
  const termination = await running.exited;
  slot.running = undefined;
  slot.state = { terminated: termination };
  return termination;
}

function start(context: PodContext, slot: Slot, { report }: PodHooks): Promise<RunningContainer | undefined> {
  const { runtime, pod, folder, volumes, user } = context;
  const { name, container, restarts } = slot;
  const place = { pod, container, folder: join(folder, 'containers', name), volumes, restartCount: restarts, user };
  let reported: string | undefined;
  const onChange = () => {
    const warning = slot.running?.warning();
    if (warning !== undefined && warning !== reported) {
      recordEvent(context, 'Warning', 'PortIgnored', `${name}: ${warning}`);
    }
    reported = warning;
    report();
  };
  return retry(
    context,
    context.stopping.signal,
    () => startContainer(runtime, place, onChange),
    (error) => {
      const [reason, message] = [waitingReason(error), messageOf(error)];
      slot.state = { waiting: { reason, message } };
      recordEvent(context, 'Warning', reason === 'ErrImageNeverPull' ? 'Failed' : reason, message);
      report();
    },
  );
}

async function backOff(context: PodContext, slot: Slot, power: number, { report }: PodHooks): Promise<void> {
  const { runtime, pod, stopping } = context;
  const { baseMs, maxMs } = runtime.backOff ?? defaultBackOff;
  const ms = Math.min(maxMs, baseMs * 2 ** power);
  const { name, namespace } = pod.metadata;
  const message = `back-off ${ms / 1000}s restarting failed container=${slot.name} pod=${name}_${namespace}`;
  slot.state = { waiting: { reason: 'CrashLoopBackOff', message } };
  recordEvent(context, 'Warning', 'BackOff', message);
  report();
  await runtime.clock.sleep(ms, stopping.signal).catch(() => undefined);
}

/** Another program may have taken a port while the container did not listen. The next run gets another port. */
async function replaceLostPorts(context: PodContext, slot: Slot, { update }: PodHooks): Promise<void> {
  const lostPorts = await findLostPorts(slot.container);
  if (lostPorts.length === 0) return;
  const pod = await storeBinding(context, lostPorts);
  if (!pod) return;
  context.runtime.ports.release(lostPorts);
  update(pod);
  slot.container = allContainers(pod).find((container) => container.name === slot.name) ?? slot.container;
  const message = `${slot.name}: another program listens on port ${lostPorts.join(', ')}; the container gets another port`;
  recordEvent(context, 'Warning', 'PortTaken', message);
}

/** The reason of a container's waiting state, in Kubernetes' words. */
function waitingReason(error: unknown): string {
  // The kubelet's reason for a missing image that it must not pull.
  if (error instanceof ImageError) return 'ErrImageNeverPull';
  if (error instanceof ConfigError) return 'CreateContainerConfigError';
  return error instanceof StartError ? 'RunContainerError' : 'CreateContainerError';
}

/** The text of an error for an Event or a status. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
