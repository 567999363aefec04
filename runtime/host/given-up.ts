import { isKubeError } from '../kube/kube-client.ts';

/**
 * Why a deployment failed that was tried again and again, as a person may read it: the reason in Kubernetes' words for a
 * refusal, no addresses and no bodies. Pure.
 * @param what was refused, such as `release` @param work that could not be carried out, such as `rollout`
 */
export function givenUp(error: unknown, { what, work }: { what: string; work: string }): string {
  if (isKubeError(error) && error.status < 500) {
    return `Kubernetes refused the ${what} again and again (${error.status} ${error.reason}); ask an administrator, and deploy again.`;
  }
  return `The ${work} could not be carried out for too long; the log of svc-workers tells why. Deploy again.`;
}
