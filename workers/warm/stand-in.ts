import { functionContainer } from '../../infra/manifests/function-pod.ts';
import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isContainerRunning, isPodEnded, restartsOf, type Pod } from '../../runtime/contracts/pod.ts';

/** Why a pod no longer stands in for a function's own pods. */
export type StandInEnd = 'ready' | 'zero' | 'failed';

/** Pods start within seconds; one that its node has not started after this time is replaced. */
const startMaxMs = 300_000;

/** Why a pod that stands in has to end, or undefined. @param deployment the function's, if there is one. Pure. */
export function standInEnd(pod: Pod, deployment: Stored<FunctionDeployment> | undefined): StandInEnd | undefined {
  // A container that restarted has no code.
  const hasEnded = pod.status?.containerStatuses?.some(({ state }) => state?.terminated !== undefined) ?? false;
  if (restartsOf(pod) > 0 || hasEnded || isPodEnded(pod)) return 'failed';
  if (!deployment || deployment.spec.replicas === 0) return 'zero';
  const { metadata, status = {} } = deployment;
  const { observedGeneration, replicas = 0, updatedReplicas = 0, readyReplicas = 0 } = status;
  const isRolledOut = observedGeneration === metadata.generation && replicas === updatedReplicas;
  return isRolledOut && readyReplicas > 0 ? 'ready' : undefined;
}

/** Whether a generic pod has to be replaced, because no function can start in it. Pure. */
export function isBroken(pod: Stored<Pod>, now: Date): boolean {
  // Its pool has created another one, and would keep it.
  if (isPodEnded(pod)) return true;
  // After a restart, nobody could tell it from one that was used.
  if (isContainerRunning(pod, functionContainer)) return restartsOf(pod) > 0;
  // Without a node it waits for the scheduler, and so would another one.
  if (pod.spec.nodeName === undefined) return false;
  return now.getTime() - Date.parse(pod.metadata.creationTimestamp ?? '') > startMaxMs;
}
