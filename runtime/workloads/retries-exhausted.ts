import { isKubeError } from '../kube/kube-client.ts';

/**
 * The reason of a deployment that failed after all retries, for users: the status and reason of a refusal by Kubernetes,
 * without addresses and bodies. Pure.
 * @param what Kubernetes refused, such as `release` @param work that was retried, such as `rollout`
 */
export function retriesExhaustedReason(error: unknown, { what, work }: { what: string; work: string }): string {
  if (isKubeError(error) && error.status < 500) {
    return `Kubernetes kept refusing the ${what} (${error.status} ${error.reason}). Ask a platform admin, then deploy again.`;
  }
  return `The ${work} kept failing and was stopped. The log of svc-workers has the cause. Deploy again.`;
}
