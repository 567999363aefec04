import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodEnded, restartsOf, type Pod } from '../../runtime/contracts/pod.ts';

/** Why a pod no longer stands in for a function's own pods. */
export type StandInEnd = 'ready' | 'zero' | 'failed';

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
