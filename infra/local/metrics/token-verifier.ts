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

/** Verifies that tokens belong to one of some service accounts. @returns whose token it is; undefined when it is refused */
export function createTokenVerifier(options: {
  kube: Pick<KubeClient, 'create'>;
  clock: Clock;
  namespace: string;
  serviceAccounts: readonly string[];
}): (token: string) => Promise<string | undefined> {
  const { kube, clock, namespace, serviceAccounts } = options;
  /** The last accepted token of each account: one process uses it. */
  const accepted = new Map<string, { digest: string; at: number }>();
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
    for (const [account, last] of accepted) {
      if (last.digest === digest && now - last.at < reuseMs) return account;
    }
    if (now - (refused.get(digest) ?? -Infinity) < refusal.ms) return undefined;
    const { apiVersion, kind } = kinds.TokenReview;
    const review = await kube.create<TokenReview>({ apiVersion, kind, metadata: { name: '' }, spec: { token } });
    const { authenticated, user } = review.status ?? {};
    const account = serviceAccounts.find((name) => user?.username === `system:serviceaccount:${namespace}:${name}`);
    if (authenticated !== true || account === undefined) {
      remember(digest, now);
      return undefined;
    }
    accepted.set(account, { digest, at: now });
    return account;
  };
}
