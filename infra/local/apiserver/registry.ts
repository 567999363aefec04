import { builtinResources } from './builtin/kinds.ts';
import { customResources } from './custom-resource.ts';
import type { Resource } from './resource.ts';
import type { Store } from './store.ts';

/** All served kinds: the built-in ones and those of definitions in the store. */
export interface Registry {
  all(): readonly Resource[];
  find(group: string, version: string, plural: string): Resource | undefined;
  /** @throws Error for a kind that is not served */
  kind(kind: string, group?: string): Resource;
}

const definitions = 'apiextensions.k8s.io/customresourcedefinitions';

export function createRegistry(store: Store): Registry {
  let current: readonly Resource[] | undefined;
  store.subscribe(definitions, () => (current = undefined));

  const all = (): readonly Resource[] => {
    current ??= [...builtinResources, ...store.list(definitions).flatMap(customResources)];
    return current;
  };

  return {
    all,
    find: (group, version, plural) =>
      all().find((resource) => resource.plural === plural && resource.group === group && resource.version === version),
    kind(kind, group = '') {
      const match = all().find((resource) => resource.kind === kind && resource.group === group);
      if (!match) throw new Error(`the kind ${kind} is not served`);
      return match;
    },
  };
}
