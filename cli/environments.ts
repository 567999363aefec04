import { environmentView } from '../runtime/contracts/api/projects.ts';
import { Failure, unlessMissing } from './failure.ts';
import type { Scope } from './scope.ts';

/** How many environments are read at once; a user can have 50 requests in progress. */
const readsAtOnce = 10;

/** What {@link acrossEnvironments} has read. */
interface EnvironmentItems<Item> {
  /** In the order of the project's environments. */
  items: Item[];
  /** Whether they are from all environments of a project that has several. */
  several: boolean;
}

/**
 * Reads from the scope's environment or, if none is set, from all environments of the project.
 * @param read reads from one environment; without a name, from the project's only one
 */
export async function acrossEnvironments<Item>(
  scope: Scope,
  read: (query: Scope['query']) => Promise<readonly Item[]>,
): Promise<EnvironmentItems<Item>> {
  try {
    return { items: [...(await read(scope.query))], several: false };
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'environment_required') throw error;
  }
  const environments = await scope.api.list(scope.path('environments'), environmentView);
  const items: Item[] = [];
  for (let from = 0; from < environments.length; from += readsAtOnce) {
    const reads = environments.slice(from, from + readsAtOnce).map(({ name: environment }) =>
      // An environment may have been deleted in the meantime.
      unlessMissing(read({ environment })),
    );
    for (const part of await Promise.all(reads)) items.push(...(part ?? []));
  }
  return { items, several: true };
}
