import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { AddressMatcher } from '../../runtime/domain/address.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { PagedList } from './paged.ts';
import type { GatePlan } from './plan.ts';
import { SlotIndex, textHash } from './slot-index.ts';

/** What decides about a key's requests. Keys without a property of their own share one object. */
export interface KeyTerms {
  environmentId: Id;
  /** Shared by all keys of the plan, so that a change applies to all at once. */
  plan: GatePlan;
  /** App ids; undefined for every app of the environment. */
  scope: ReadonlySet<Id> | undefined;
  /** Undefined for every client. */
  addresses: AddressMatcher | undefined;
  enabled: boolean;
  /** Wall-clock milliseconds; Infinity for never. */
  expiresAt: number;
}

/** What a table stores of a key. */
export interface StoredKey {
  /** 8 characters. */
  handle: string;
  /** 32 bytes. */
  digest: Uint8Array;
  terms: KeyTerms;
  /** The display name as a header's value; undefined without one. */
  nameHeader: string | undefined;
}

/** A record is a digest and a handle: a search and the comparison read one place of memory. */
const [digestBytes, handleBytes] = [32, 8] as const;
const recordBytes = digestBytes + handleBytes;
const pageBits = 12;
const pageRecords = 1 << pageBits;

/**
 * The keys of one view, by slot ({@link KeySlots}) and by handle. Requests to many keys find hardly anything in the
 * processor's cache, so that what is kept of a key is in few places: a record of bytes, and references to its terms and
 * its name side by side. An object for each would be several more, all of which the garbage collector visits.
 */
export class KeyTable {
  readonly #pages: (Buffer | undefined)[] = [];
  /** Two entries for each slot: the terms and the name. */
  readonly #references = new PagedList<KeyTerms | string>();
  readonly #index = new SlotIndex((slot) => textHash(this.handle(slot)));
  readonly #scratch = Buffer.alloc(digestBytes);
  #count = 0;

  constructor() {
    // That of slot 0 is random; what is no key is compared with it, so that it takes the same time.
    this.#page(0).set(randomBytes(digestBytes));
  }

  /** The number of keys. */
  get count(): number {
    return this.#count;
  }

  /** The slot of the key with this handle; 0 for none. */
  find(handle: string): number {
    return this.#index.find(textHash(handle), (slot) => this.#hasHandle(slot, handle));
  }

  has(slot: number): boolean {
    return this.#references.get(2 * slot) !== undefined;
  }

  terms(slot: number): KeyTerms | undefined {
    const terms = this.#references.get(2 * slot);
    return typeof terms === 'object' ? terms : undefined;
  }

  nameHeader(slot: number): string | undefined {
    const name = this.#references.get(2 * slot + 1);
    return typeof name === 'string' ? name : undefined;
  }

  /** The slot must have a key. */
  handle(slot: number): string {
    const start = startOf(slot) + digestBytes;
    return this.#page(slot).toString('latin1', start, start + handleBytes);
  }

  /** Compares in constant time with the digest of the slot's key, or of slot 0 with one that matches nothing. */
  matches(slot: number, digest: Uint8Array): boolean {
    this.#page(slot).copy(this.#scratch, 0, startOf(slot), startOf(slot) + digestBytes);
    return timingSafeEqual(this.#scratch, digest);
  }

  /** Adds a key, in place of the slot's previous one. @throws Error for a digest or a handle of another length */
  put(slot: number, { handle, digest, terms, nameHeader }: StoredKey): void {
    if (digest.length !== digestBytes)
      throw new Error(`expected a digest of ${digestBytes} bytes, got ${digest.length}`);
    if (handle.length !== handleBytes)
      throw new Error(`expected a handle of ${handleBytes} bytes, got ${handle.length}`);
    this.remove(slot);
    const page = this.#page(slot);
    page.set(digest, startOf(slot));
    page.write(handle, startOf(slot) + digestBytes, 'latin1');
    this.#refer(slot, terms, nameHeader);
    this.#index.add(slot);
    this.#count++;
  }

  /** Removes the slot's key, if it has one. */
  remove(slot: number): void {
    if (!this.has(slot)) return;
    this.#index.remove(slot);
    this.#refer(slot, undefined, undefined);
    this.#count--;
  }

  #hasHandle(slot: number, handle: string): boolean {
    const page = this.#page(slot);
    const start = startOf(slot) + digestBytes;
    for (let place = 0; place < handleBytes; place++)
      if (page[start + place] !== handle.charCodeAt(place)) return false;
    return handle.length === handleBytes;
  }

  #refer(slot: number, terms: KeyTerms | undefined, nameHeader: string | undefined): void {
    this.#references.set(2 * slot, terms);
    this.#references.set(2 * slot + 1, nameHeader);
  }

  #page(slot: number): Buffer {
    return (this.#pages[slot >>> pageBits] ??= Buffer.alloc(pageRecords * recordBytes));
  }
}

/** Where a slot's record begins in its page. */
function startOf(slot: number): number {
  return (slot & (pageRecords - 1)) * recordBytes;
}
