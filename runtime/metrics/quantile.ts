/** One bucket of a histogram: its upper bound and the number of values up to it. */
export interface Bucket {
  bound: number;
  count: number;
}

/**
 * The quantile of cumulative buckets, interpolated as Prometheus does; null without values. In the last bucket, which has no
 * upper bound, it is that bucket's lower bound. Pure.
 * https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile
 */
export function quantileOf(quantile: number, unsorted: readonly Bucket[]): number | null {
  const buckets = unsorted.toSorted((one, other) => one.bound - other.bound);
  const last = buckets.at(-1);
  if (!last || last.bound !== Infinity || buckets.length < 2 || !(last.count > 0)) return null;
  const rank = quantile * last.count;
  const index = buckets.findIndex(({ count }) => count >= rank);
  const bucket = buckets[index] ?? last;
  const below = buckets[index - 1];
  if (bucket.bound === Infinity) return below?.bound ?? null;
  const [lower, before] = [below?.bound ?? 0, below?.count ?? 0];
  if (bucket.count <= before) return bucket.bound;
  return lower + ((bucket.bound - lower) * (rank - before)) / (bucket.count - before);
}
