import { join } from 'node:path';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { timestamp } from '../controllers/objects.ts';
import { messageOf, runContainer, type PodHooks } from './container-runs.ts';
import { storeBinding } from './pod-binding.ts';
import { recordEvent, retry, type PodContext } from './pod-context.ts';
import { allContainers, type NodePod } from './pod-spec.ts';
import { createSlot, type Role, type Slot } from './slot.ts';
import { phaseOf } from './status.ts';
import { claimFolders, mountVolumes } from './volumes.ts';

/** The grace period of a pod that sets none. */
export const defaultGraceSeconds = 30;
/** How often volumes take over changes of Secrets and ConfigMaps; Kubernetes takes about as long. */
const refreshMs = 60_000;
/** How often to check whether a sidecar has started. */
const sidecarPollMs = 50;

/** The slots of a pod's containers, continued from its status. */
export function createSlots(pod: Stored<NodePod>, now: Date): Slot[] {
  return allContainers(pod).map((container) => createSlot(pod, container, timestamp(now)));
}

/** Runs a pod's containers in their order; resolves when they have ended for good or `context.stopping` is aborted. */
export async function runPod(context: PodContext, hooks: PodHooks): Promise<void> {
  const { slots: previous, stopping, runtime, folder } = context;
  const { signal } = stopping;
  // The pod ended with the last node and does not restart: only its status is left to report.
  if (previous.every(({ role, willRestart }) => role !== 'main' || !willRestart)) return;
  if (!(await prepare(context, hooks.report))) return;
  const { slots } = context;
  const run = (slot: Slot) => runContainer(context, slot, hooks);
  const mayStart = () => !signal.aborted && phaseOf(context.slots) !== 'Failed';
  const background = [refreshVolumes(context)];
  const sidecars: Slot[] = [];
  for (const slot of slots.filter(({ role }) => role !== 'main')) {
    if (!mayStart() || !(await mountFor(context, [...sidecars, slot]))) break;
    if (slot.role === 'init') {
      await run(slot);
      // A process that left its container must not see what the next one gets, such as the credentials of a later step.
      if (sidecars.length === 0) runtime.users?.killProcesses(folder);
    } else {
      sidecars.push(slot);
      background.push(run(slot));
      while (!signal.aborted && !slot.running?.started()) await sleep(context, sidecarPollMs);
    }
  }
  const main = slots.filter(({ role, willRestart }) => role === 'main' && willRestart);
  if (mayStart() && (await mountFor(context, [...sidecars, ...main]))) await Promise.all(main.map(run));
  // Sidecars stop after the main containers and do not restart then.
  stopping.abort(new Error('the pod ended'));
  await stopContainers(context, ['sidecar'], context.pod.spec.terminationGracePeriodSeconds ?? defaultGraceSeconds);
  await Promise.all(background);
}

/** Stops the running containers, those of one role after those of the previous one. */
export async function stopContainers(context: PodContext, roles: readonly Role[], graceSeconds: number): Promise<void> {
  for (const role of roles) {
    const containers = context.slots.filter((slot) => slot.role === role).flatMap(({ running }) => running ?? []);
    await Promise.all(containers.map((container) => container.stop(graceSeconds)));
  }
}

/** Binds the pod. @returns whether its containers may start */
async function prepare(context: PodContext, report: () => void): Promise<boolean> {
  const { runtime } = context;
  const bound = await storeBinding(context);
  if (!bound) return false;
  context.pod = bound;
  context.slots = createSlots(bound, runtime.clock.now());
  report();
  return true;
}

/**
 * Makes the pod's volumes. Only those that one of these containers mounts have the content of Secrets: the others' may be
 * kept from these containers. @returns whether the containers may start
 */
async function mountFor(context: PodContext, slots: readonly Slot[]): Promise<boolean> {
  const mounts = slots.flatMap(({ container }) => container.volumeMounts ?? []);
  context.mountedVolumes = new Set(mounts.map(({ name }) => name));
  const volumes = await retry(
    context,
    context.stopping.signal,
    () => mount(context),
    (error) => recordEvent(context, 'Warning', 'FailedMount', messageOf(error)),
  );
  context.volumes = volumes ?? context.volumes;
  return volumes !== undefined;
}

async function refreshVolumes(context: PodContext): Promise<void> {
  const { log, stopping } = context;
  for (await sleep(context, refreshMs); !stopping.signal.aborted; await sleep(context, refreshMs)) {
    await mount(context).catch((error: unknown) => log.debug({ err: error }, 'volumes not updated'));
  }
}

async function mount(context: PodContext): Promise<Map<string, string>> {
  const { runtime, pod, folder, mountedVolumes } = context;
  const claims = await claimFolders(runtime, pod);
  context.user = await runtime.users?.assign(folder, [...claims.values()]);
  return mountVolumes(runtime, pod, {
    root: join(folder, 'volumes'),
    claims,
    user: context.user,
    mounted: mountedVolumes,
  });
}

function sleep({ runtime, stopping }: PodContext, ms: number): Promise<void> {
  return runtime.clock.sleep(ms, stopping.signal).catch(() => undefined);
}
