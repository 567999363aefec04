/** A ReplicaSet's desired number of pods and how many of them are available. */
export interface ReplicaCounts {
  replicas: number;
  available: number;
}

/** How many pods a rolling update may add to the desired number, and how many may be missing. */
export interface RolloutLimits {
  maxSurge: number;
  maxUnavailable: number;
}

/**
 * The limits of `strategy.rollingUpdate`. Percentages are of the desired number, with surge rounded up and
 * unavailability rounded down. If both are zero, one pod may be missing, as in Kubernetes, so that the rollout makes
 * progress.
 */
export function rolloutLimits(
  replicas: number,
  { maxSurge = '25%', maxUnavailable = '25%' }: { maxSurge?: number | string; maxUnavailable?: number | string } = {},
): RolloutLimits {
  const surge = countOf(maxSurge, replicas, Math.ceil);
  const unavailable = countOf(maxUnavailable, replicas, Math.floor);
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function countOf(value: number | string, of: number, round: (share: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * of);
}

/**
 * The next replicas of the new ReplicaSet and the old ones (oldest first) on the way to `desired` pods of the new one:
 * never more than `desired + maxSurge` in total, and old pods go only while `desired - maxUnavailable` pods are
 * available. Unavailable pods go first. Pure.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
 */
export function nextReplicas(
  desired: number,
  limits: RolloutLimits,
  current: ReplicaCounts,
  old: readonly ReplicaCounts[],
): { current: number; old: number[] } {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const counts = old.map(({ replicas }) => replicas);
  const available = old.map((set) => Math.min(set.available, set.replicas));
  const surge = desired + limits.maxSurge - current.replicas - sum(counts);
  const next = Math.min(desired, current.replicas + Math.max(0, surge));
  const floor = desired - limits.maxUnavailable;

  const scaleDown = (index: number, limit: number) => {
    const removed = Math.max(0, Math.min(counts[index] ?? 0, limit));
    counts[index] = (counts[index] ?? 0) - removed;
    return removed;
  };
  let surplus = current.available + sum(counts) - floor;
  for (const [index, { replicas }] of old.entries()) {
    surplus -= scaleDown(index, Math.min(surplus, replicas - (available[index] ?? 0)));
  }
  surplus = current.available + sum(available) - floor;
  for (const index of old.keys()) surplus -= scaleDown(index, surplus);
  return { current: next, old: counts };
}
