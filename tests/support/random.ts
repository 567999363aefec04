/** Random choices that a seed repeats. */
export interface Random {
  /** At least 0, less than 1. */
  next(): number;
  /** A whole number, both ends inclusive. */
  between(low: number, high: number): number;
  chance(probability: number): boolean;
  /** @throws Error when the list is empty */
  pick<T>(items: readonly T[]): T;
  /** One of the names, in proportion to the weights. */
  weighted(weights: Readonly<Record<string, number>>): string;
}

/** A generator (mulberry32) that gives the same numbers for the same seed. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1));
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick(items) {
      const item = items[between(0, items.length - 1)];
      if (item === undefined) throw new Error('nothing to pick from');
      return item;
    },
    weighted(weights) {
      const entries = Object.entries(weights);
      let remaining = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        remaining -= weight;
        if (remaining < 0) return name;
      }
      return entries.at(-1)?.[0] ?? '';
    },
  };
}
