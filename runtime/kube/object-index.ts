/** Groups of objects that share a value, such as those of one namespace. */
export interface ObjectIndex<Item> {
  /** Records the state after a change; `object` is undefined when it was deleted. */
  set(key: string, object: Item | undefined, previous: Item | undefined): void;
  list(value: string): Item[];
}

/** @param valueOf the value by which an object is found; undefined for an object that is in no group */
export function createObjectIndex<Item>(valueOf: (object: Item) => string | undefined): ObjectIndex<Item> {
  const groups = new Map<string, Map<string, Item>>();
  return {
    set(key, object, previous) {
      const before = previous && valueOf(previous);
      const value = object && valueOf(object);
      if (before !== undefined && before !== value) {
        const group = groups.get(before);
        group?.delete(key);
        if (group?.size === 0) groups.delete(before);
      }
      if (object === undefined || value === undefined) return;
      const group = groups.get(value) ?? new Map<string, Item>();
      groups.set(value, group.set(key, object));
    },
    list: (value) => [...(groups.get(value)?.values() ?? [])],
  };
}
