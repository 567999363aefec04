import type { V1Container, V1ContainerState, V1ContainerStatus, V1PodSpec, V1PodStatus } from '@kubernetes/client-node';
import type { Json, KubeObject } from './kubernetes.ts';

export type ContainerState = Json<V1ContainerState>;

/** The fields of a container's status that the platform reads. Some runtimes put an id that is no digest in `imageID`. */
export type ContainerStatus = Pick<Json<V1ContainerStatus>, 'name' | 'ready' | 'restartCount' | 'state' | 'lastState'> &
  Partial<Pick<V1ContainerStatus, 'imageID'>>;

type PodContainer = Pick<V1Container, 'name' | 'image' | 'ports' | 'resources' | 'volumeMounts'>;

/** The fields of a pod that the platform reads. */
export interface Pod extends KubeObject {
  apiVersion: 'v1';
  kind: 'Pod';
  spec: Pick<Json<V1PodSpec>, 'volumes' | 'nodeName'> & { containers: PodContainer[]; initContainers?: PodContainer[] };
  status?: Pick<Json<V1PodStatus>, 'reason' | 'message' | 'podIP'> & {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

/** The name of the init container that installs a function's dependencies. */
export const dependenciesContainer = 'dependencies';

/** Why a pod cannot serve, when more waiting will not help. */
export interface PodFault {
  /** The kubelet's reason, such as `CrashLoopBackOff` or `ImagePullBackOff`. */
  reason: string;
  /** The name of the init container that has it; undefined for other containers and for the pod. */
  initContainer?: string;
  /** The exit code of the container's previous run, if there was one. */
  exitCode?: number;
  /** Whether the previous run was killed because it ran out of memory. */
  outOfMemory?: boolean;
  /** The last message of the container or the kubelet, which may quote the program's log. */
  message?: string;
}

/** The kubelet's waiting reasons that are faults. Others (`ContainerCreating`, `PodInitializing`) belong to a normal start. */
const faultReasons = new Set([
  'CrashLoopBackOff',
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'InvalidImageName',
  'CreateContainerConfigError',
  'CreateContainerError',
  'RunContainerError',
]);

/**
 * The kubelet's message when it does not know a new Secret or ConfigMap yet; it retries within moments. For one that does
 * not exist, the message is `not found`.
 * https://github.com/kubernetes/kubernetes/blob/v1.33.0/pkg/kubelet/util/manager/watch_based_manager.go
 */
const notSynced = /^failed to sync (secret|configmap) cache/;

/** The fault of a pod, or undefined while it starts or serves. An evicted or failed pod has a fault, too. */
export function podFault(pod: Pod): PodFault | undefined {
  const { phase, reason, message } = pod.status ?? {};
  if (phase === 'Failed') return { reason: reason ?? 'Failed', ...(message !== undefined && { message }) };
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  for (const status of [...initContainerStatuses, ...containerStatuses]) {
    const { name, state, lastState } = status;
    const waiting = state?.waiting;
    if (waiting?.reason === undefined || !faultReasons.has(waiting.reason)) continue;
    if (notSynced.test(waiting.message ?? '')) continue;
    const previous = lastState?.terminated;
    const detail = previous?.message ?? waiting.message;
    return {
      reason: waiting.reason,
      ...(initContainerStatuses.includes(status) && { initContainer: name }),
      ...(previous && { exitCode: previous.exitCode }),
      ...(previous?.reason === 'OOMKilled' && { outOfMemory: true }),
      ...(detail !== undefined && { message: detail }),
    };
  }
  return undefined;
}

/** Whether the pod is ready. */
export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Whether a container of the pod runs. */
export function isContainerRunning({ status }: Pod, container: string): boolean {
  return (
    status?.containerStatuses?.some(({ name, state }) => name === container && state?.running !== undefined) ?? false
  );
}

/** How often the containers of a pod have restarted, init containers included. */
export function restartsOf({ status }: Pod): number {
  const { initContainerStatuses = [], containerStatuses = [] } = status ?? {};
  return [...initContainerStatuses, ...containerStatuses].reduce((sum, { restartCount }) => sum + restartCount, 0);
}

/** Whether the pod has succeeded or failed. */
export function isPodEnded({ status }: Pod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/**
 * Whether the pod was a generic one and stands in for a function's own pods, which belong to a ReplicaSet (decision 0098).
 */
export function isStandIn({ metadata }: Pod): boolean {
  return metadata.ownerReferences?.some(({ controller, kind }) => controller === true && kind === 'Function') ?? false;
}

/** Whether the pod can get traffic: it is neither being deleted nor finished. */
export function isPodLive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !isPodEnded(pod);
}
