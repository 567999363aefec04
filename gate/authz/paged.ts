const pageBits = 12;
const pageRecords = 1 << pageBits;
const pageMask = pageRecords - 1;

/**
 * Records of numbers, by position; every number is 0 at first. With a million keys, an object for each would take
 * several times the memory, and the garbage collector would visit all of them. Records are in pages of typed arrays,
 * which it does not search, and growing never copies a page.
 */
export class NumberRecords {
  readonly #fields: number;
  #pages: (Float64Array | undefined)[] = [];

  /** @param fields the numbers of each record */
  constructor(fields: number) {
    this.#fields = fields;
  }

  get(record: number, field: number): number {
    return this.#pages[record >>> pageBits]?.[(record & pageMask) * this.#fields + field] ?? 0;
  }

  set(record: number, field: number, value: number): void {
    const page = (this.#pages[record >>> pageBits] ??= new Float64Array(pageRecords * this.#fields));
    page[(record & pageMask) * this.#fields + field] = value;
  }

  /** Sets a record's numbers to 0. */
  reset(record: number): void {
    const start = (record & pageMask) * this.#fields;
    this.#pages[record >>> pageBits]?.fill(0, start, start + this.#fields);
  }

  /** Sets all numbers to 0, and frees the memory. */
  clear(): void {
    this.#pages = [];
  }
}

/** A list in pages, so that it may be filled in any order, and growing never copies it. */
export class PagedList<Item> {
  readonly #pages: ((Item | undefined)[] | undefined)[] = [];

  get(index: number): Item | undefined {
    return this.#pages[index >>> pageBits]?.[index & pageMask];
  }

  set(index: number, item: Item | undefined): void {
    const page = (this.#pages[index >>> pageBits] ??= Array.from<Item | undefined>({ length: pageRecords }));
    page[index & pageMask] = item;
  }
}
