/** A segment, for {@link chooseEviction}. */
export interface SegmentSize {
  namespace: string;
  /** The hour of its lines. */
  hour: string;
  /** What it takes, {@link segmentCost}. */
  cost: number;
}

/** Maximum segments in a store. */
const segmentsMax = 50_000;

/**
 * What a segment takes of the store's size. Each also takes a share for being a file, so that the size bounds the number of
 * files, too: a tenant with very many small ones evicts its own.
 */
export function segmentCost(bytes: number, maxBytes: number): number {
  return bytes + Math.ceil(maxBytes / segmentsMax);
}

/**
 * The segments to delete until the rest fits: each time the oldest of the namespace that takes most, so a namespace that
 * prints much loses its own lines and no other's. Pure.
 */
export function chooseEviction<T extends SegmentSize>(segments: readonly T[], maxBytes: number): T[] {
  const byNamespace = new Map<string, { cost: number; oldestFirst: T[] }>();
  let total = 0;
  for (const segment of segments) {
    const entry = byNamespace.get(segment.namespace) ?? { cost: 0, oldestFirst: [] };
    entry.cost += segment.cost;
    entry.oldestFirst.push(segment);
    byNamespace.set(segment.namespace, entry);
    total += segment.cost;
  }
  if (total <= maxBytes) return [];
  for (const { oldestFirst } of byNamespace.values()) {
    oldestFirst.sort((a, b) => (a.hour < b.hour ? 1 : a.hour > b.hour ? -1 : 0));
  }
  const evicted: T[] = [];
  while (total > maxBytes) {
    let largest: { cost: number; oldestFirst: T[] } | undefined;
    for (const entry of byNamespace.values()) if (!largest || entry.cost > largest.cost) largest = entry;
    const oldest = largest?.oldestFirst.pop();
    if (!largest || !oldest) break;
    largest.cost -= oldest.cost;
    total -= oldest.cost;
    evicted.push(oldest);
  }
  return evicted;
}
