import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';

/**
 * The pods with the same template as the newest pod. Empty when pods of two templates were created in the same second.
 * Pure.
 */
export function podsOfNewestTemplate(pods: readonly Stored<Pod>[]): Stored<Pod>[] {
  const createdAt = (pod: Stored<Pod>) => Date.parse(pod.metadata.creationTimestamp ?? '') || 0;
  const newest = Math.max(...pods.map(createdAt));
  const hashes = new Set(pods.filter((pod) => createdAt(pod) === newest).map(templateHash));
  return hashes.size === 1 ? pods.filter((pod) => hashes.has(templateHash(pod))) : [];
}

const templateHash = ({ metadata: { labels } }: Stored<Pod>) => labels?.['pod-template-hash'];
