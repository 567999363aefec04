/** A page of a list in the API (docs/reference/api.md#lists). */
export interface Page<Item> {
  items: Item[];
  nextCursor?: string;
}

/**
 * Returns one page of a complete list, ordered by key. The cursor is the last key of the previous page, so that changes of
 * the list between pages neither repeat nor skip other items.
 * @param keyOf a unique key
 */
export function pageOf<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Page<Item> {
  const rest = items
    .map((item) => ({ item, key: keyOf(item) }))
    .filter(({ key }) => cursor === undefined || key > cursor)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  const entries = rest.slice(0, limit);
  const last = entries.at(-1);
  return { items: entries.map(({ item }) => item), ...(rest.length > limit && last && { nextCursor: last.key }) };
}

/**
 * Returns one page of a query's rows. The query must read `limit` + 1 rows: the additional row shows that there is a next
 * page.
 * @param cursorOf the cursor after a row
 */
export function pageOfRows<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { cursorOf, toItem }: { cursorOf: (row: Row) => string; toItem: (row: Row) => Item },
): Page<Item> {
  const entries = rows.slice(0, limit);
  const last = entries.at(-1);
  return {
    items: entries.map((row) => toItem(row)),
    ...(rows.length > limit && last !== undefined && { nextCursor: cursorOf(last) }),
  };
}
