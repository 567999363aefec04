import { eventsAudience } from '../../runtime/contracts/event-exchange.ts';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../runtime/domain/clock.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { appLabel, idLabel, kindLabel, roleLabel } from '../../runtime/domain/labels.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { createTokenCache } from './token-cache.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-review-v1/ */
interface TokenReview extends KubeObject {
  spec: { token: string; audiences: string[] };
  status?: {
    authenticated?: boolean;
    audiences?: string[];
    user?: { username?: string; extra?: Record<string, string[]> };
  };
}

/** Fields of a token review that identify the token's pod. */
const podName = 'authentication.kubernetes.io/pod-name';
const podUid = 'authentication.kubernetes.io/pod-uid';

/** The function of a sidecar. */
export interface Sidecar {
  id: Id;
  namespace: string;
  name: string;
}

export interface IdentifyDependencies {
  kube: Pick<KubeClient, 'create' | 'get'>;
  clock: Clock;
}

/**
 * Identifies the function of a sidecar: its token must have the right audience and belong to an existing pod, whose labels,
 * which only the platform sets, name the function.
 * @returns a function from the header `Authorization` to the sidecar's function @throws Problem `unauthenticated`
 */
export function createIdentify({ kube, clock }: IdentifyDependencies): (authorization?: string) => Promise<Sidecar> {
  const review = async (token: string): Promise<Sidecar | undefined> => {
    const { apiVersion, kind } = kinds.TokenReview;
    const spec = { token, audiences: [eventsAudience] };
    const { status } = await kube.create<TokenReview>({ apiVersion, kind, metadata: { name: '' }, spec });
    if (status?.authenticated !== true || status.audiences?.includes(eventsAudience) !== true) return undefined;
    const { username = '', extra = {} } = status.user ?? {};
    const namespace = /^system:serviceaccount:([^:]+):/.exec(username)?.[1];
    const podNamed = extra[podName]?.[0];
    if (namespace === undefined || podNamed === undefined) return undefined;
    const pod = await kube.get<Pod>(kinds.Pod, podNamed, namespace);
    const labels = pod?.metadata.labels ?? {};
    const serves = labels[kindLabel] === 'Function' && labels[roleLabel] === 'serve';
    if (!pod || pod.metadata.uid !== extra[podUid]?.[0] || !serves) return undefined;
    const { [idLabel]: id, [appLabel]: name } = labels;
    return id === undefined || name === undefined ? undefined : { id, namespace, name };
  };

  return createTokenCache(
    { clock },
    { review, refusal: 'Only the sidecars of function pods can get events, with a token for the audience svc-events.' },
  );
}
