/** A handle is 8 characters of [a-z0-9] (`runtime/domain/api-key.ts`): a number of 42 bits. */
const handleLength = 8;
const empty = -1;
const smallestBits = 8;

/** Finds what belongs to a handle. */
export interface HandleIndex<Value> {
  get(handle: string): Value | undefined;
  /** Nothing is kept for what is no handle: no key has it. */
  set(handle: string, value: Value): void;
  delete(handle: string): void;
  size(): number;
}

/** The handle as a number, or `empty` for what is none. */
function numberOf(handle: string): number {
  if (handle.length !== handleLength) return empty;
  let number = 0;
  for (let index = 0; index < handleLength; index++) {
    const code = handle.charCodeAt(index);
    if (code >= 97 && code <= 122) number = number * 36 + code - 87;
    else if (code >= 48 && code <= 57) number = number * 36 + code - 48;
    else return empty;
  }
  return number;
}

/**
 * An index that is made for a lookup at every request: a Map of 100,000 strings has to fetch a chain of entries and their
 * strings from memory, each of them far apart; here the numbers lie side by side in a table with free places (open
 * addressing, linear probing, at most half full).
 */
export function createHandleIndex<Value>(): HandleIndex<Value> {
  let bits = smallestBits;
  let numbers = new Float64Array(2 ** bits).fill(empty);
  let values: (Value | undefined)[] = Array.from({ length: 2 ** bits }, () => undefined);
  let size = 0;

  /** Where a number would like to be: the upper bits of a product that depends on all of its own. */
  const home = (number: number) =>
    Math.imul(Math.trunc(number) ^ Math.imul(Math.floor(number / 2 ** 32), 0x85ebca6b), 0x9e3779b1) >>> (32 - bits);

  /** The place of a number, or the free place where it belongs. */
  const place = (number: number) => {
    const last = numbers.length - 1;
    let index = home(number);
    while (numbers[index] !== number && numbers[index] !== empty) index = (index + 1) & last;
    return index;
  };

  const grow = () => {
    const [oldNumbers, oldValues] = [numbers, values];
    bits++;
    numbers = new Float64Array(2 ** bits).fill(empty);
    values = Array.from({ length: 2 ** bits }, () => undefined);
    oldNumbers.forEach((number, index) => {
      if (number === empty) return;
      const moved = place(number);
      numbers[moved] = number;
      values[moved] = oldValues[index];
    });
  };

  /** Closes the gap at a place: what follows moves up, unless it would come before its home. */
  const close = (gap: number) => {
    const last = numbers.length - 1;
    let free = gap;
    for (let index = (gap + 1) & last; numbers[index] !== empty; index = (index + 1) & last) {
      const number = numbers[index] ?? empty;
      const wayFromHome = (index - home(number)) & last;
      if (wayFromHome < ((index - free) & last)) continue;
      numbers[free] = number;
      values[free] = values[index];
      free = index;
    }
    numbers[free] = empty;
    values[free] = undefined;
  };

  return {
    get(handle) {
      const number = numberOf(handle);
      return number === empty ? undefined : values[place(number)];
    },
    set(handle, value) {
      const number = numberOf(handle);
      if (number === empty) return;
      if (size * 2 >= numbers.length) grow();
      const index = place(number);
      if (numbers[index] === empty) size++;
      numbers[index] = number;
      values[index] = value;
    },
    delete(handle) {
      const number = numberOf(handle);
      if (number === empty) return;
      const index = place(number);
      if (numbers[index] === empty) return;
      size--;
      close(index);
    },
    size: () => size,
  };
}
