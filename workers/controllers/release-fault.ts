import { progressDeadlineSeconds } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, podFault, type Pod, type PodFault } from '../../runtime/contracts/pod.ts';
import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import { errorLine } from './log-summary.ts';
import { placementText } from './placement.ts';

const messageMax = 500;
/**
 * A release fails when a container crashes again after this many restarts, which takes about half a minute with
 * Kubernetes' back-off.
 */
const crashRestarts = 3;
/** A fault that may resolve itself, such as a missing image or Secret, fails the release after this time. */
export const patienceMs = 30_000;

const imageReasons = new Set(['ImagePullBackOff', 'ErrImagePull', 'ErrImageNeverPull', 'InvalidImageName']);
/** Faults that no waiting mends. The embedded node, which pulls nothing, reports the second for an image that it lacks. */
const permanentReasons = new Set(['InvalidImageName', 'ErrImageNeverPull']);
const configReasons = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);

/** A fault that prevents the pods of a release from becoming ready. */
export interface ReleaseFault {
  /** For the app's owner. */
  message: string;
  /**
   * Whether it fails the release at once: a container crashed too often, or the fault is permanent. Others do after
   * {@link patienceMs}.
   */
  final: boolean;
}

/** The first fault of a release's pods that are not ready; undefined while they may still be starting. Pure. */
export function releaseFault(pods: readonly Stored<Pod>[]): ReleaseFault | undefined {
  const faults = pods.filter((pod) => isPodLive(pod) && !isPodReady(pod)).flatMap((pod) => faultOf(pod) ?? []);
  return faults.find(({ final }) => final) ?? faults[0];
}

function faultOf(pod: Pod): ReleaseFault | undefined {
  const fault = podFault(pod);
  if (!fault) return undefined;
  const restarts = Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
  const crashing = fault.reason === 'CrashLoopBackOff';
  // Kubernetes reports CrashLoopBackOff after the first crash; only repeated crashes are a fault.
  if (crashing && restarts < crashRestarts) return undefined;
  return { message: describeFault(fault), final: crashing || permanentReasons.has(fault.reason) };
}

/**
 * Why a pod is not ready, for the app's owner: an explanation, the kubelet's reason and the last output of the
 * container. Pure.
 */
export function faultText(pod: Pod): string | undefined {
  const fault = podFault(pod);
  return fault && describeFault(fault);
}

function describeFault({ reason, exitCode, message, outOfMemory }: PodFault): string {
  // Omits the kubelet's text about its back-off in favour of the container's output.
  const waits = reason === 'CrashLoopBackOff' && message?.startsWith('back-off ');
  const detail = message === undefined || waits ? '' : errorLine(message).trim();
  const because = detail === '' ? '' : `: ${detail}`;
  return `${whatOf(reason, exitCode, outOfMemory ?? false)}${because}`.slice(0, messageMax);
}

function whatOf(reason: string, exitCode: number | undefined, outOfMemory: boolean): string {
  if (outOfMemory) return 'The container keeps running out of memory; raise its memory limit';
  if (exitCode === 0) return 'The container keeps exiting; an app has to keep running (exit code 0)';
  if (exitCode !== undefined) return `The container keeps crashing (exit code ${exitCode})`;
  if (imageReasons.has(reason)) return `The image cannot be pulled (${reason})`;
  if (configReasons.has(reason)) return `The container cannot be started (${reason})`;
  return reason;
}

/** The message for pods that did not become ready in time and have no fault that the kubelet reports. Pure. */
export function notReadyText(pods: readonly Stored<Pod>[], { port, healthPath }: AppSpec): string {
  const placement = placementText(pods, 'the new pods');
  if (placement !== undefined) return placement;
  const running = pods.some(({ status }) => status?.containerStatuses?.some(({ state }) => state?.running));
  // The embedded cluster reports a program that listens on another port.
  const remark = pods
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status, message = '' }) => type === 'Ready' && status === 'False' && message.includes('; '))
    ?.message?.split('; ')
    .slice(1)
    .join('; ');
  if (remark !== undefined) return `The new pods did not become ready in time: ${remark}.`;
  const deadline = `within ${progressDeadlineSeconds} seconds`;
  if (!running) return `The new pods did not start ${deadline}; check the Events of the environment.`;
  return healthPath === undefined
    ? `The new pods did not become ready in time: nothing accepted a connection on port ${port} ${deadline}; check that the app listens on this port.`
    : `The new pods did not become ready in time: GET ${healthPath} on port ${port} did not return 2xx ${deadline}.`;
}
