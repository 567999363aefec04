import { progressDeadlineSeconds } from '../../infra/manifests/app.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, podFault, type Pod, type PodFault } from '../../runtime/contracts/pod.ts';
import type { AppSpec } from '../../runtime/contracts/resources/app.ts';
import { tellingLine } from './last-line.ts';

const messageMax = 500;
/** A container that crashed once more after so many restarts has had its chance: about half a minute with Kubernetes' back-off. */
const crashRestarts = 3;
/** What may come right by itself, such as an image that is being pushed, or a Secret, is given this long. */
export const patienceMs = 30_000;

const imageReasons = new Set(['ImagePullBackOff', 'ErrImagePull', 'ErrImageNeverPull', 'InvalidImageName']);
const configReasons = new Set(['CreateContainerConfigError', 'CreateContainerError', 'RunContainerError']);

/** What keeps the pods of a release from serving. */
export interface ReleaseFault {
  /** For its owner. */
  message: string;
  /** Whether waiting is over: it crashed too often, or nothing ever cures it. The rest counts after {@link patienceMs}. */
  final: boolean;
}

/** The first fault among the pods of a release that are not ready; undefined while they may just be starting. Pure. */
export function releaseFault(pods: readonly Stored<Pod>[]): ReleaseFault | undefined {
  const faults = pods.filter((pod) => isPodLive(pod) && !isPodReady(pod)).flatMap((pod) => faultOf(pod) ?? []);
  return faults.find(({ final }) => final) ?? faults[0];
}

function faultOf(pod: Pod): ReleaseFault | undefined {
  const fault = podFault(pod);
  if (!fault) return undefined;
  const restarts = Math.max(0, ...(pod.status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
  const crashing = fault.reason === 'CrashLoopBackOff';
  // Between two lives it says so after the very first; only many are a loop.
  if (crashing && restarts < crashRestarts) return undefined;
  return { message: describeFault(fault), final: crashing || fault.reason === 'InvalidImageName' };
}

/** Why a pod does not serve, for its owner: in words, with the kubelet's own and what the container said last. Pure. */
export function faultText(pod: Pod): string | undefined {
  const fault = podFault(pod);
  return fault && describeFault(fault);
}

function describeFault({ reason, exitCode, message, outOfMemory }: PodFault): string {
  // What the kubelet says of its back-off is no news; what the container said is.
  const waits = reason === 'CrashLoopBackOff' && message?.startsWith('back-off ');
  const said = message === undefined || waits ? '' : tellingLine(message).trim();
  const because = said === '' ? '' : `: ${said}`;
  return `${whatOf(reason, exitCode, outOfMemory ?? false)}${because}`.slice(0, messageMax);
}

function whatOf(reason: string, exitCode: number | undefined, outOfMemory: boolean): string {
  if (outOfMemory) return 'The container is killed for memory again and again; give it a higher limit';
  if (exitCode === 0) return 'The container ends by itself, again and again; an app has to go on running (exit code 0)';
  if (exitCode !== undefined) return `The container crashes again and again (exit code ${exitCode})`;
  if (imageReasons.has(reason)) return `The image cannot be pulled (${reason})`;
  if (configReasons.has(reason)) return `The container cannot be started (${reason})`;
  return reason;
}

/** What to tell of pods that did not get ready in time, and have no fault that the kubelet would name. Pure. */
export function notReadyText(pods: readonly Stored<Pod>[], { port, healthPath }: AppSpec): string {
  const unplaced = pods
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable');
  if (unplaced) return `No node has room for the new pods: ${unplaced.message ?? 'they need more than there is.'}`;
  const running = pods.some(({ status }) => status?.containerStatuses?.some(({ state }) => state?.running));
  // The embedded default says so of a program that listens elsewhere.
  const remark = pods
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type, status, message = '' }) => type === 'Ready' && status === 'False' && message.includes('; '))
    ?.message?.split('; ')
    .slice(1)
    .join('; ');
  if (remark !== undefined) return `The new pods did not become ready in time: ${remark}.`;
  const within = `within ${progressDeadlineSeconds} seconds`;
  if (!running) return `The new pods did not start ${within}; see the Events of the environment.`;
  return healthPath === undefined
    ? `The new pods did not become ready in time: nothing accepted a connection on port ${port} ${within}; see whether the app listens there.`
    : `The new pods did not become ready in time: GET ${healthPath} on port ${port} was not answered with 2xx ${within}.`;
}
