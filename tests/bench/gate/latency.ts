const bucketMicroseconds = 10;
const bucketCount = 200_000;

/** Durations in steps of 10 µs up to 2 s; longer ones count as 2 s. */
export interface LatencyRecord {
  /** @param ms milliseconds */
  add(ms: number): void;
  /** The value in ms that this share (0 to 1) of the durations does not exceed; NaN if there are none. */
  percentile(share: number): number;
}

/** An empty record, whose memory does not grow. */
export function createLatencyRecord(): LatencyRecord {
  const buckets = new Uint32Array(bucketCount);
  let total = 0;
  return {
    add(ms) {
      const index = Math.min(bucketCount - 1, Math.max(0, Math.floor((ms * 1000) / bucketMicroseconds)));
      buckets[index] = (buckets[index] ?? 0) + 1;
      total++;
    },
    percentile(share) {
      let remaining = Math.ceil(total * share);
      if (remaining === 0) return Number.NaN;
      for (let index = 0; index < bucketCount; index++) {
        remaining -= buckets[index] ?? 0;
        if (remaining <= 0) return ((index + 1) * bucketMicroseconds) / 1000;
      }
      return Number.NaN;
    },
  };
}
