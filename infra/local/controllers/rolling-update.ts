/** How many pods a ReplicaSet is asked for and how many of them serve. */
export interface Scaled {
  replicas: number;
  available: number;
}

/** What a rolling update may add to and take from the wanted count, in pods. */
export interface Room {
  maxSurge: number;
  maxUnavailable: number;
}

/**
 * The bounds of `strategy.rollingUpdate`; a percentage is of the wanted count, surge rounded up and unavailability down.
 * Both zero would never end, so that one pod may then be missing, as in Kubernetes.
 */
export function roomOf(
  replicas: number,
  { maxSurge = '25%', maxUnavailable = '25%' }: { maxSurge?: number | string; maxUnavailable?: number | string } = {},
): Room {
  const surge = countOf(maxSurge, replicas, Math.ceil);
  const unavailable = countOf(maxUnavailable, replicas, Math.floor);
  return { maxSurge: surge, maxUnavailable: surge === 0 && unavailable === 0 ? 1 : unavailable };
}

function countOf(value: number | string, of: number, round: (share: number) => number): number {
  return typeof value === 'number' ? value : round((Number.parseFloat(value) / 100) * of);
}

/**
 * The next counts of the new ReplicaSet and the old ones, oldest first, on the way to `wanted` pods of the new one:
 * never more than `wanted + maxSurge` in all, and old pods go only as far as `wanted - maxUnavailable` still serve.
 * Pods that do not serve go first, since nobody misses them. Pure.
 * https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#rolling-update-deployment
 */
export function nextCounts(
  wanted: number,
  room: Room,
  current: Scaled,
  old: readonly Scaled[],
): { current: number; old: number[] } {
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const counts = old.map(({ replicas }) => replicas);
  const available = old.map((set) => Math.min(set.available, set.replicas));
  const most = wanted + room.maxSurge - current.replicas - sum(counts);
  const next = Math.min(wanted, current.replicas + Math.max(0, most));
  const floor = wanted - room.maxUnavailable;

  const take = (index: number, limit: number) => {
    const taken = Math.max(0, Math.min(counts[index] ?? 0, limit));
    counts[index] = (counts[index] ?? 0) - taken;
    return taken;
  };
  let spare = current.available + sum(counts) - floor;
  for (const [index, { replicas }] of old.entries()) {
    spare -= take(index, Math.min(spare, replicas - (available[index] ?? 0)));
  }
  spare = current.available + sum(available) - floor;
  for (const index of old.keys()) spare -= take(index, spare);
  return { current: next, old: counts };
}
