const shardBits = 8;
const initialPlaces = 16;

/**
 * An open-addressing hash table with linear probing: for each place its slot, where 0 is a free place, and the slot's hash.
 * A search passes slots of other hashes without a look at what they contain, which is rarely in the processor's cache.
 */
interface Shard {
  places: Int32Array;
  used: number;
}

/** The numbers of a place. */
const [slotField, hashField, placeFields] = [0, 1, 2] as const;

/**
 * Finds slots (positive integers) by a hash of what they contain. A Map with a million texts takes ten times the memory,
 * and stops the thread for a tenth of a second when it grows; this table grows in 256 parts.
 */
export class SlotIndex {
  readonly #shards: Shard[] = Array.from({ length: 1 << shardBits }, () => ({
    places: new Int32Array(initialPlaces * placeFields),
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
    const mask = maskOf(places);
    const signed = hash | 0;
    for (let place = home(hash, mask); ; place = next(place, mask)) {
      const slot = places[place + slotField] ?? 0;
      if (slot === 0 || (places[place + hashField] === signed && matches(slot))) return slot;
    }
  }

  /** Adds a slot that the index does not contain. */
  add(slot: number): void {
    const hash = this.#hashOf(slot);
    const shard = this.#shard(hash);
    if (++shard.used * placeFields * 4 > shard.places.length * 3) grow(shard);
    put(shard.places, slot, hash);
  }

  /** Removes a slot that the index contains. */
  remove(slot: number): void {
    const hash = this.#hashOf(slot);
    const shard = this.#shard(hash);
    const { places } = shard;
    const mask = maskOf(places);
    let gap = home(hash, mask);
    while (places[gap + slotField] !== slot) gap = next(gap, mask);
    // Closes the gap, since a search ends at a free place: moves back each slot that may be there.
    for (let place = next(gap, mask); places[place + slotField] !== 0; place = next(place, mask)) {
      const distance = (place - home(places[place + hashField] ?? 0, mask)) & mask;
      if (distance < ((place - gap) & mask)) continue;
      places.copyWithin(gap, place, place + placeFields);
      gap = place;
    }
    places[gap + slotField] = 0;
    shard.used--;
  }

  #shard(hash: number): Shard {
    const shard = this.#shards[hash & ((1 << shardBits) - 1)];
    if (!shard) throw new Error('a hash is an integer');
    return shard;
  }
}

function grow(shard: Shard): void {
  const { places } = shard;
  const larger = new Int32Array(places.length * 2);
  for (let place = 0; place < places.length; place += placeFields) {
    const slot = places[place + slotField] ?? 0;
    if (slot !== 0) put(larger, slot, places[place + hashField] ?? 0);
  }
  shard.places = larger;
}

function put(places: Int32Array, slot: number, hash: number): void {
  const mask = maskOf(places);
  let place = home(hash, mask);
  while (places[place + slotField] !== 0) place = next(place, mask);
  places[place + slotField] = slot;
  places[place + hashField] = hash;
}

/** The bits of a place's first index. */
function maskOf(places: Int32Array): number {
  return places.length - placeFields;
}

function next(place: number, mask: number): number {
  return (place + placeFields) & mask;
}

/** The place where the search for a hash begins. */
function home(hash: number, mask: number): number {
  return ((hash >>> shardBits) * placeFields) & mask;
}

/** FNV-1a. The handles of keys are random, so that nobody can choose ones that collide. */
export function textHash(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash;
}
