import { randomBytes } from 'node:crypto';
import type { KeyRing } from '../../runtime/domain/sealed.ts';

/** A key ring with one random key. */
export function testKeyRing(): KeyRing {
  return { current: 'k1', keys: new Map([['k1', randomBytes(32)]]) };
}
