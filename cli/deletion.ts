import type { Query } from './client.ts';
import type { Context } from './context.ts';
import { confirm, confirmName } from './prompt.ts';
import type { Scope } from './scope.ts';
import { waitForRemoval, type WaitFlags } from './wait.ts';

/** The parts of a {@link Kind} that a deletion uses. */
export interface Deletable<View> {
  name: string;
  plural: string;
  id: (view: View) => string;
  read: (scope: Scope, name: string) => Promise<View>;
  path(scope: Scope, name: string): string;
  /** Additional deleted things, such as `all data`. */
  loss?: string;
  /** A consequence for other things, which is printed before the question; undefined for none. */
  consequence?(view: View): string | undefined;
  /** Returns a warning about the loss, for kinds whose name the user must type to confirm. */
  warning?(view: View, scope: Scope): string;
  /** Whether the API deletes the thing before it responds, so that no wait is needed. */
  immediate?: boolean;
}

interface Deletion<View> {
  kind: Deletable<View>;
  scope: Scope;
  /** In the order of the command line. */
  names: readonly string[];
  /** The verb of the question (default `Delete`). */
  verb?: string;
  loss?: string | undefined;
}

/**
 * Reads all things to delete, then asks for confirmation, so that a wrong name is reported before anything is deleted.
 * @returns the name and view of each thing, every name once
 * @throws Failure `not_found` for a name that does not exist, `not_confirmed`
 */
export async function confirmDeletion<View>(
  context: Context,
  flags: { yes: boolean },
  { kind, scope, names, verb = 'Delete', loss = kind.loss }: Deletion<View>,
): Promise<{ name: string; view: View }[]> {
  const items: { name: string; view: View }[] = [];
  for (const name of new Set(names)) items.push({ name, view: await kind.read(scope, name) });
  for (const { view } of items) {
    const consequence = kind.consequence?.(view);
    if (consequence !== undefined) context.say(consequence);
  }
  if (kind.warning) {
    for (const { view } of items) await confirmName(context, flags, kind.warning(view, scope), kind.id(view));
    return items;
  }
  const noun = items.length === 1 ? kind.name : kind.plural;
  const subjects = items.map(({ view }) => kind.id(view)).join(', ');
  const owner = ownerOf(scope, items[0]?.view);
  await confirm(context, flags, `${verb} ${noun} ${subjects}${owner}${loss === undefined ? '' : `, with ${loss}`}?`);
  return items;
}

/** The scope for the question, such as ` in shop/prod`. Without `--environment` the API uses the project's only one. */
function ownerOf({ project, query }: Scope, view: unknown): string {
  const { environment = query.environment } = (view ?? {}) as { environment?: string };
  if (project === '') return '';
  return ` in ${project}${environment === undefined ? '' : `/${environment}`}`;
}

/** Deletes things of one kind after {@link confirmDeletion}, and waits until they are gone unless `--no-wait` is given. */
export async function deleteAll<View>(
  context: Context,
  flags: Partial<WaitFlags> & { yes: boolean },
  deletion: Deletion<View> & { query?: Query },
): Promise<void> {
  const { kind, scope, query = {} } = deletion;
  const items = await confirmDeletion(context, flags, deletion);
  for (const { name } of items) {
    await scope.api.send('DELETE', kind.path(scope, name), { query: { ...scope.query, ...query } });
  }
  for (const { name, view } of items) {
    const subject = `${kind.name} ${kind.id(view)}`;
    if (flags.wait && !kind.immediate) {
      const check = `svc ${kind.name} show ${name} ${scope.flags}`.trim();
      const read = () => kind.read(scope, name);
      await waitForRemoval(context, { timeout: flags.timeout }, { subject, read, check });
    }
    context.say(`${subject} ${flags.wait || kind.immediate ? 'is deleted' : 'is being deleted'}`);
  }
}
