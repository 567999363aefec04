import { hash, timingSafeEqual } from 'node:crypto';

/** Compares two texts in a time that depends neither on their contents nor on where they differ. */
export function equalInConstantTime(a: string, b: string): boolean {
  // timingSafeEqual needs buffers of the same length.
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'));
}
