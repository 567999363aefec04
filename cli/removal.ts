import type { Query } from './client.ts';
import type { Context } from './context.ts';
import type { Place } from './place.ts';
import { confirm } from './prompt.ts';
import { waitForRemoval, type WaitFlags } from './wait.ts';

/**
 * Deletes several of one collection, after a question, and waits until they are gone unless told not to.
 * @param what how a person says one: `job` @param look reads one; it fails with `not_found` when there is none
 * @param lost what else goes, for the question @param query of each deletion, beside the place's
 */
export async function removeAll(
  context: Context,
  flags: WaitFlags & { yes: boolean },
  place: Place,
  {
    what,
    collection,
    names,
    look,
    lost = '',
    query = {},
  }: {
    what: string;
    collection: Parameters<Place['path']>[0];
    names: readonly string[];
    look: (name: string) => Promise<unknown>;
    lost?: string;
    query?: Query;
  },
): Promise<void> {
  // A typing error in the last name must not be found after the first is gone.
  for (const name of names) await look(name);
  await confirm(context, flags, `Delete ${names.join(', ')} of ${place.project}${lost}?`);
  for (const name of names) {
    await place.api.send('DELETE', place.path(collection, name), { query: { ...place.query, ...query } });
  }
  for (const name of names) {
    if (flags.wait) await waitForRemoval(context, flags, `${what} ${name}`, () => look(name));
    context.say(`${what} ${name} ${flags.wait ? 'is deleted' : 'is being deleted'}`);
  }
}
