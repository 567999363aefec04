/** A page of a list, as every list of the API answers it. */
export interface Page<Item> {
  items: Item[];
  nextCursor?: string;
}

/**
 * Cuts one page out of a whole list. The cursor is the last key of the page before, so that a list that changes meanwhile
 * neither repeats nor skips what stays.
 * @param keyOf unique in the list; its order is the list's
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
  const shown = rest.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map(({ item }) => item),
    ...(rest.length > limit && last && { nextCursor: last.key }),
  };
}

/**
 * The page of rows that a query found in their order after the cursor, when it was asked for one more than `limit`: that
 * one tells whether there is a next page.
 * @param cursorOf the key by which the query goes on after a row
 */
export function pageOfRows<Row, Item>(
  rows: readonly Row[],
  limit: number,
  { cursorOf, toItem }: { cursorOf: (row: Row) => string; toItem: (row: Row) => Item },
): Page<Item> {
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    items: shown.map((row) => toItem(row)),
    ...(rows.length > limit && last !== undefined && { nextCursor: cursorOf(last) }),
  };
}
