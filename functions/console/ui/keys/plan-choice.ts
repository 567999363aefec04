import type { List } from '../api/queries.ts';

/** All items of a list, page by page. */
export async function allItems<Item>(read: (cursor: string | undefined) => Promise<List<Item>>): Promise<Item[]> {
  const items: Item[] = [];
  let cursor: string | undefined;
  do {
    const page = await read(cursor);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return items;
}

/** The plans to choose from. The chosen one is among them even where the list does not have it, so that it stays. */
export function planOptions(names: readonly string[], chosen: string | undefined): { value: string }[] {
  const isMissing = chosen !== undefined && !names.includes(chosen);
  return [...(isMissing ? [chosen] : []), ...names].map((value) => ({ value }));
}
