import type { Logger } from 'pino';
import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { EventRecorder } from '../../../runtime/kube/events.ts';
import { isKubeError } from '../../../runtime/kube/kube-client.ts';
import type { PortPool } from './binding.ts';
import type { NodePod } from './pod-spec.ts';
import type { ContainerRuntime } from './program.ts';
import type { Slot } from './slot.ts';
import type { Users } from './users.ts';
import type { VolumeSources } from './volumes.ts';

/** Wait between attempts while something that a pod needs is missing. */
const retryWait = { baseMs: 500, maxMs: 10_000 };

/** The data that all pods of one node share. */
export interface PodRuntime extends ContainerRuntime, VolumeSources {
  kube: ContainerRuntime['kube'];
  /** Folder of all pods, with a folder for each uid. */
  pods: string;
  nodeName: string;
  ports: PortPool;
  events: EventRecorder;
  log: Logger;
  backOff?: { baseMs: number; maxMs: number };
  /** Users for pods, if this process runs as root; otherwise all pods run as this process's user. */
  users?: Users;
}

/** A pod on this node, shared by the parts of its worker. */
export interface PodContext {
  readonly runtime: PodRuntime;
  readonly log: Logger;
  /** The pod's own folder. */
  readonly folder: string;
  /** The pod as last read or written. */
  pod: Stored<NodePod>;
  slots: Slot[];
  volumes: ReadonlyMap<string, string>;
  /** The names of the volumes that a container which runs, or starts next, mounts. */
  mountedVolumes: ReadonlySet<string>;
  /** The user that it runs as. Default this process's own. */
  user: number | undefined;
  /** Aborted when no container may start any more. */
  readonly stopping: AbortController;
  /** Aborted when nothing may be written to the API server any more. */
  readonly silencing: AbortController;
}

/** The pod in the API server; undefined when it is gone. */
export function readPod({ runtime, pod }: PodContext): Promise<Stored<NodePod> | undefined> {
  return runtime.kube.get<NodePod>(kinds.Pod, pod.metadata.name, pod.metadata.namespace);
}

/** Records an Event of the pod. */
export function recordEvent(
  { runtime, pod }: PodContext,
  type: 'Normal' | 'Warning',
  reason: string,
  message: string,
): void {
  void runtime.events.record(pod, { type, reason, message });
}

/**
 * Repeats an attempt until it succeeds, since a missing object may still be created.
 * @param onError called with each error
 * @returns undefined when `until` is aborted or the pod is gone
 */
export async function retry<T>(
  context: PodContext,
  until: AbortSignal,
  attempt: () => Promise<T>,
  onError: (error: unknown) => void,
): Promise<T | undefined> {
  const { clock } = context.runtime;
  for (let failures = 0; !until.aborted; failures++) {
    try {
      return await attempt();
    } catch (error) {
      if (isKubeError(error, 404) && (await isGone(context))) return undefined;
      onError(error);
      await clock.sleep(Math.min(retryWait.maxMs, retryWait.baseMs * 2 ** failures), until).catch(() => undefined);
    }
  }
  return undefined;
}

async function isGone(context: PodContext): Promise<boolean> {
  try {
    return (await readPod(context)) === undefined;
  } catch {
    return false;
  }
}
