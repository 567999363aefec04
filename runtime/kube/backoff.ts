/**
 * The delay before a retry, in ms. It doubles with each failure from `baseMs` up to `maxMs`, minus up to a fifth at random,
 * so that many clients do not retry at the same time.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: { baseMs: number; maxMs: number }): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
  return full * (0.8 + 0.2 * Math.random());
}
