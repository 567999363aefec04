/**
 * Divides `max` places among groups of these sizes: no group gets more than it needs, and a large one no more than all other
 * large ones. Pure. @returns the most places that any group gets; Infinity if there is room for all
 */
export function fairShare(sizes: readonly number[], max: number): number {
  let left = max;
  const sorted = sizes.toSorted((one, other) => one - other);
  for (const [index, size] of sorted.entries()) {
    const share = Math.floor(left / (sorted.length - index));
    if (size > share) return share;
    left -= size;
  }
  return Infinity;
}
