import type { Draft } from './draft.ts';

/** Values for the form of a function, which the user has asked to put into it. */
export type Offered = Partial<Draft>;

/** More than a person goes back to. */
const most = 10;
const offers = new Map<number, Offered>();
let last = 0;

/**
 * Keeps values for a form in memory: code can be too long for an address, and the next user of the browser must not find
 * it there. @returns the number for the address of the form
 */
export function keepOffer(values: Offered): number {
  last += 1;
  offers.set(last, values);
  offers.delete(last - most);
  return last;
}

/** The values with a number; none after the page was loaded again. */
export function offerOf(number: number | undefined): Offered {
  return (number === undefined ? undefined : offers.get(number)) ?? {};
}

/** Reads the number in an address. */
export function offerSearch({ offer }: Record<string, unknown>): { offer?: number } {
  return typeof offer === 'number' ? { offer } : {};
}
