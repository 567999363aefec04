import { createHash } from 'node:crypto';
import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';

interface TokenReview extends KubeObject {
  spec: { token: string };
  status?: { authenticated?: boolean; user?: { username?: string } };
}

/** How long an accepted token is accepted without a review. */
const reuseMs = 60_000;
/** How long a refused one is refused without a review, and how many of them are remembered. */
const refusal = { ms: 5_000, max: 1_000 };

/** Verifies that tokens belong to one service account. @returns whether the token is accepted now */
export function createTokenVerifier(options: {
  kube: Pick<KubeClient, 'create'>;
  clock: Clock;
  namespace: string;
  serviceAccount: string;
}): (token: string) => Promise<boolean> {
  const { kube, clock, namespace, serviceAccount } = options;
  /** The digest of the last accepted token: only one process uses the server. */
  let accepted: { digest: string; at: number } | undefined;
  /** By digest, the time of the refusal; the oldest first. */
  const refused = new Map<string, number>();
  const remember = (digest: string, at: number) => {
    refused.delete(digest);
    refused.set(digest, at);
    const [oldest] = refused.keys();
    if (refused.size > refusal.max && oldest !== undefined) refused.delete(oldest);
  };
  return async (token) => {
    const digest = createHash('sha256').update(token).digest('hex');
    const now = clock.monotonic();
    if (accepted?.digest === digest && now - accepted.at < reuseMs) return true;
    if (now - (refused.get(digest) ?? -Infinity) < refusal.ms) return false;
    const { apiVersion, kind } = kinds.TokenReview;
    const review = await kube.create<TokenReview>({ apiVersion, kind, metadata: { name: '' }, spec: { token } });
    const { authenticated, user } = review.status ?? {};
    if (authenticated !== true || user?.username !== `system:serviceaccount:${namespace}:${serviceAccount}`) {
      remember(digest, now);
      return false;
    }
    accepted = { digest, at: now };
    return true;
  };
}
