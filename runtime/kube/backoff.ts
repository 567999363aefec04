/**
 * The wait before the n-th try in a row, in ms: doubling from `baseMs` up to `maxMs`, of which the last fifth is random
 * so that many do not come back together.
 */
export function backoffMs(failures: number, { baseMs, maxMs }: { baseMs: number; maxMs: number }): number {
  const full = Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1));
  return full * (0.8 + 0.2 * Math.random());
}
