import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';

/** The pods that were made by the same template as the youngest one; none where two templates share that second. Pure. */
export function likeTheYoungest(pods: readonly Stored<Pod>[]): Stored<Pod>[] {
  const born = (pod: Stored<Pod>) => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
  const last = Math.max(...pods.map(born));
  const hashes = new Set(pods.filter((pod) => born(pod) === last).map(templateOf));
  return hashes.size === 1 ? pods.filter((pod) => hashes.has(templateOf(pod))) : [];
}

/** What Kubernetes calls the template that a pod was made by. */
const templateOf = ({ metadata: { labels } }: Stored<Pod>) => labels?.['pod-template-hash'];
