import type { Id } from '../../runtime/domain/ids.ts';

const pageBits = 12;
const pageMask = (1 << pageBits) - 1;
const words = 4;
const idLength = 36;

const digitCodes = Buffer.from('0123456789abcdef');

/** The value of a digit by its character code; 255 for any other character, also for capital letters. */
const digits = new Uint8Array(128).fill(255);
for (let digit = 0; digit < 16; digit++) digits[digit.toString(16).charCodeAt(0)] = digit;

/** Whether a hyphen is at this place of an id. */
function isHyphen(place: number): boolean {
  return place === 8 || place === 13 || place === 18 || place === 23;
}

/** The places of an id's digits. */
const digitPlaces = Uint8Array.from(
  Array.from({ length: idLength }, (_, place) => place).filter((place) => !isHyphen(place)),
);

/**
 * Ids by slot, 16 bytes for each, in pages of typed arrays as in `paged.ts`. As a text, an id takes four times as much,
 * and the garbage collector would visit it. The nil id stands for none.
 */
export class IdRecords {
  readonly #pages: (Uint32Array | undefined)[] = [];
  readonly #read = new Uint32Array(words);
  /** The text of an id: one string is made of it, and none of its parts. */
  readonly #text = Buffer.alloc(idLength, '-');

  /** The slot's id; undefined for none. */
  get(slot: number): Id | undefined {
    const page = this.#pages[slot >>> pageBits];
    if (!page || !this.has(slot)) return undefined;
    const start = (slot & pageMask) * words;
    for (let digit = 0; digit < digitPlaces.length; digit++) {
      const word = page[start + (digit >>> 3)] ?? 0;
      this.#text[digitPlaces[digit] ?? 0] = digitCodes[(word >>> (28 - 4 * (digit & 7))) & 15] ?? 0;
    }
    return this.#text.toString('latin1');
  }

  /** Writes the 16 bytes of the slot's id; zeros for none. */
  copy(slot: number, target: Buffer, at: number): void {
    const page = this.#pages[slot >>> pageBits];
    const start = (slot & pageMask) * words;
    for (let word = 0; word < words; word++) target.writeUInt32BE(page?.[start + word] ?? 0, at + 4 * word);
  }

  has(slot: number): boolean {
    const page = this.#pages[slot >>> pageBits];
    const start = (slot & pageMask) * words;
    return page !== undefined && (page[start] || page[start + 1] || page[start + 2] || page[start + 3]) !== 0;
  }

  /** Whether the slot has the id that was read last. */
  matches(slot: number): boolean {
    const page = this.#pages[slot >>> pageBits];
    const start = (slot & pageMask) * words;
    for (let word = 0; word < words; word++) if (page?.[start + word] !== this.#read[word]) return false;
    return true;
  }

  /** Gives the slot the id that was read last. */
  put(slot: number): void {
    const page = (this.#pages[slot >>> pageBits] ??= new Uint32Array(words << pageBits));
    page.set(this.#read, (slot & pageMask) * words);
  }

  remove(slot: number): void {
    const start = (slot & pageMask) * words;
    this.#pages[slot >>> pageBits]?.fill(0, start, start + words);
  }

  /** Reads an id. @returns whether the text is one, in small letters as PostgreSQL writes it */
  read(id: string): boolean {
    if (id.length !== idLength) return false;
    let digit = 0;
    let word = 0;
    for (let place = 0; place < idLength; place++) {
      const code = id.charCodeAt(place);
      if (isHyphen(place)) {
        if (code !== 45) return false;
        continue;
      }
      const value = digits[code] ?? 255;
      if (value === 255) return false;
      word = (word << 4) | value;
      if ((++digit & 7) === 0) this.#read[(digit >>> 3) - 1] = word;
    }
    return true;
  }

  /** A hash of the id that was read last. */
  hashRead(): number {
    return mixed(this.#read, 0);
  }

  /** The same hash of the slot's id. */
  hash(slot: number): number {
    const page = this.#pages[slot >>> pageBits];
    return page ? mixed(page, (slot & pageMask) * words) : 0;
  }
}

/** The platform chooses the ids of keys, so that nobody can choose ones that collide. */
function mixed(values: Uint32Array, start: number): number {
  let hash = values[start] ?? 0;
  hash ^= Math.imul(values[start + 1] ?? 0, 0x9e3779b1);
  hash ^= Math.imul(values[start + 2] ?? 0, 0x85ebca6b);
  hash ^= Math.imul(values[start + 3] ?? 0, 0xc2b2ae35);
  hash = Math.imul(hash ^ (hash >>> 16), 0x7feb352d);
  return hash ^ (hash >>> 15);
}
