const shardBits = 8;
const initialPlaces = 16;

/** An open-addressing hash table with linear probing; 0 is a free place. */
interface Shard {
  places: Int32Array;
  used: number;
}

/**
 * Finds slots (positive integers) by a hash of what they contain. A Map with a million texts takes ten times the memory,
 * and stops the thread for a tenth of a second when it grows; this table grows in 256 parts.
 */
export class SlotIndex {
  readonly #shards: Shard[] = Array.from({ length: 1 << shardBits }, () => ({
    places: new Int32Array(initialPlaces),
    used: 0,
  }));
  readonly #hashOf: (slot: number) => number;

  /** @param hashOf 32 bits, the same as long as the slot is in the index */
  constructor(hashOf: (slot: number) => number) {
    this.#hashOf = hashOf;
  }

  /** The slot with this hash that matches; 0 for none. */
  find(hash: number, matches: (slot: number) => boolean): number {
    const { places } = this.#shard(hash);
    const mask = places.length - 1;
    for (let place = home(hash, mask); ; place = (place + 1) & mask) {
      const slot = places[place] ?? 0;
      if (slot === 0 || matches(slot)) return slot;
    }
  }

  /** Adds a slot that the index does not contain. */
  add(slot: number): void {
    const shard = this.#shard(this.#hashOf(slot));
    if (++shard.used * 4 > shard.places.length * 3) this.#grow(shard);
    this.#place(shard.places, slot);
  }

  /** Removes a slot that the index contains. */
  remove(slot: number): void {
    const shard = this.#shard(this.#hashOf(slot));
    const { places } = shard;
    const mask = places.length - 1;
    let gap = home(this.#hashOf(slot), mask);
    while (places[gap] !== slot) gap = (gap + 1) & mask;
    // Closes the gap, since a search ends at a free place: moves back each slot that may be there.
    for (let place = (gap + 1) & mask; places[place] !== 0; place = (place + 1) & mask) {
      const moved = places[place] ?? 0;
      const distance = (place - home(this.#hashOf(moved), mask)) & mask;
      if (distance < ((place - gap) & mask)) continue;
      places[gap] = moved;
      gap = place;
    }
    places[gap] = 0;
    shard.used--;
  }

  #shard(hash: number): Shard {
    const shard = this.#shards[hash & ((1 << shardBits) - 1)];
    if (!shard) throw new Error('a hash is an integer');
    return shard;
  }

  #place(places: Int32Array, slot: number): void {
    const mask = places.length - 1;
    let place = home(this.#hashOf(slot), mask);
    while (places[place] !== 0) place = (place + 1) & mask;
    places[place] = slot;
  }

  #grow(shard: Shard): void {
    const places = new Int32Array(shard.places.length * 2);
    for (const slot of shard.places) if (slot !== 0) this.#place(places, slot);
    shard.places = places;
  }
}

/** The place where the search for a hash begins. */
function home(hash: number, mask: number): number {
  return (hash >>> shardBits) & mask;
}

/** FNV-1a. The handles of keys are random, so that nobody can choose ones that collide. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
