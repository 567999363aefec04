import { seededRandom } from './random.ts';

/**
 * Multiplies the rounds of tests that choose their cases at random: 1 in `npm test`, 50 in `npm run soak`. `SVC_SOAK`
 * sets it.
 */
export function soakFactor(): number {
  const factor = Number(process.env['SVC_SOAK'] ?? 1);
  if (!(factor >= 1)) throw new Error(`SVC_SOAK is a number of at least 1, not "${process.env['SVC_SOAK']}"`);
  return factor;
}

/**
 * The seed of this run: `SVC_SEED`, or a random one in `npm run soak`. `npm test` always uses the same, so that it gives the
 * same result for the same code. Print it in the test's name, so that a failure can be repeated.
 */
export function testSeed(): number {
  return Number(process.env['SVC_SEED'] ?? (soakFactor() === 1 ? 1 : Math.floor(Math.random() * 2 ** 31)));
}

/**
 * A random choice of `count` items times {@link soakFactor}, in order; all of them if there are fewer. The first and
 * the last are always included.
 */
export function sample<T>(items: readonly T[], count: number, seed: number): T[] {
  const size = Math.min(items.length, Math.floor(count * soakFactor()));
  if (size === items.length) return [...items];
  const random = seededRandom(seed);
  const indexes = new Set([0, items.length - 1].slice(0, size));
  while (indexes.size < size) indexes.add(random.between(0, items.length - 1));
  return items.filter((_, index) => indexes.has(index));
}
