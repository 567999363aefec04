import type { KubeObject, ObjectMeta } from './kubernetes.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/#ContainerState */
export interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: { exitCode: number; reason?: string; message?: string; finishedAt?: string };
}

export interface ContainerStatus {
  name: string;
  ready: boolean;
  restartCount: number;
  /** What runs, such as `registry.example.com/shop/api@sha256:…`; some runtimes tell an id that is no digest. */
  imageID?: string;
  state?: ContainerState;
  lastState?: ContainerState;
}

interface PodContainer {
  name: string;
  ports?: { name?: string; containerPort: number }[];
  resources?: { limits?: Record<string, string> };
}

/** What the platform reads of a pod. */
export interface Pod extends KubeObject {
  apiVersion: 'v1';
  kind: 'Pod';
  metadata: ObjectMeta;
  spec: {
    containers: PodContainer[];
    initContainers?: PodContainer[];
    volumes?: { name: string; configMap?: { name?: string }; persistentVolumeClaim?: { claimName: string } }[];
  };
  status?: {
    phase?: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Unknown';
    reason?: string;
    message?: string;
    podIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

/** Why a pod cannot serve and will not by waiting a moment longer. */
export interface PodFault {
  /** The kubelet's word, such as `CrashLoopBackOff` or `ImagePullBackOff`. */
  reason: string;
  /** The exit code of the container's last life, when it had one. */
  exitCode?: number;
  /** Whether its last life ended for memory. */
  outOfMemory?: boolean;
  /** What the container or the kubelet said last. For operators and the owner: it may quote the program's log. */
  message?: string;
}

/** Waiting reasons of the kubelet that name a fault; the others (`ContainerCreating`, `PodInitializing`) are a start. */
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
 * What a kubelet says that has not yet seen a Secret or ConfigMap of a new pod: it looks again within moments. One that is
 * not there is `not found`. https://github.com/kubernetes/kubernetes/blob/v1.33.0/pkg/kubelet/util/manager/watch_based_manager.go
 */
const notYetSeen = /^failed to sync (secret|configmap) cache/;

/** The fault of a pod, or undefined while it starts or serves. A pod that was evicted or ended has a fault too. */
export function podFault(pod: Pod): PodFault | undefined {
  const { phase, reason, message } = pod.status ?? {};
  if (phase === 'Failed') return { reason: reason ?? 'Failed', ...(message !== undefined && { message }) };
  const statuses = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  for (const { state, lastState } of statuses) {
    const waiting = state?.waiting;
    if (waiting?.reason === undefined || !faultReasons.has(waiting.reason)) continue;
    if (notYetSeen.test(waiting.message ?? '')) continue;
    const ended = lastState?.terminated;
    const said = ended?.message ?? waiting.message;
    return {
      reason: waiting.reason,
      ...(ended && { exitCode: ended.exitCode }),
      ...(ended?.reason === 'OOMKilled' && { outOfMemory: true }),
      ...(said !== undefined && { message: said }),
    };
  }
  return undefined;
}

/** Whether the kubelet says that the pod passes its readiness probe. */
export function isPodReady(pod: Pod): boolean {
  return pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Whether all its containers have ended for good. */
export function isPodEnded({ status }: Pod): boolean {
  return status?.phase === 'Failed' || status?.phase === 'Succeeded';
}

/** Whether the pod can still get traffic: neither going nor ended. */
export function isPodLive(pod: Pod): boolean {
  return pod.metadata.deletionTimestamp === undefined && !isPodEnded(pod);
}
