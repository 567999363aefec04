import { timingSafeEqual } from 'node:crypto';

const digestBytes = 32;
const pageBits = 12;
const pageDigests = 1 << pageBits;

/** Stores digests by slot, in pages. For 100,000 keys this takes 3 MB; with a Buffer for each it would take 14 MB. */
export interface DigestSlab {
  /** Copies a digest. @throws Error when it does not have 32 bytes */
  set(slot: number, digest: Uint8Array): void;
  /** Compares in constant time. The slot must have a digest. */
  equals(slot: number, digest: Uint8Array): boolean;
}

export function createDigestSlab(): DigestSlab {
  const pages: (Buffer | undefined)[] = [];
  const scratch = Buffer.alloc(digestBytes);
  const startOf = (slot: number) => (slot % pageDigests) * digestBytes;

  return {
    set(slot, digest) {
      if (digest.length !== digestBytes)
        throw new Error(`expected a digest of ${digestBytes} bytes, got ${digest.length}`);
      (pages[slot >>> pageBits] ??= Buffer.alloc(pageDigests * digestBytes)).set(digest, startOf(slot));
    },
    equals(slot, digest) {
      const [page, start] = [pages[slot >>> pageBits], startOf(slot)];
      if (!page) throw new Error('the slot has no digest');
      page.copy(scratch, 0, start, start + digestBytes);
      return timingSafeEqual(scratch, digest);
    },
  };
}
