import { timingSafeEqual } from 'node:crypto';

const digestBytes = 32;

/** Digests in one piece of memory: a Buffer of its own for each of 100,000 keys would take as much as all the rest. */
export interface DigestSlab {
  /** Copies a digest in. @returns its slot @throws Error when it is not of 32 bytes */
  add(digest: Uint8Array): number;
  /** Frees a slot. */
  remove(slot: number): void;
  /** Compares in constant time. */
  equals(slot: number, digest: Uint8Array): boolean;
}

/** @param capacity how many digests are expected; it grows when there are more */
export function createDigestSlab(capacity = 64): DigestSlab {
  let slab = Buffer.alloc(capacity * digestBytes);
  let used = 0;
  const free: number[] = [];
  const scratch = Buffer.alloc(digestBytes);

  return {
    add(digest) {
      if (digest.length !== digestBytes) throw new Error(`a digest has ${digest.length} bytes`);
      const slot = free.pop() ?? used++;
      if (used * digestBytes > slab.length) slab = Buffer.concat([slab], slab.length * 2);
      slab.set(digest, slot * digestBytes);
      return slot;
    },
    remove(slot) {
      free.push(slot);
    },
    equals(slot, digest) {
      slab.copy(scratch, 0, slot * digestBytes, (slot + 1) * digestBytes);
      return timingSafeEqual(scratch, digest);
    },
  };
}
