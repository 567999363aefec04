/** Where a mark-done statement has the id of the event (spec.md §2.5), also where somebody put it into quotes. */
const placeholder = /'\{\{\s*id\s*\}\}'|"\{\{\s*id\s*\}\}"|\{\{\s*id\s*\}\}/g;

/** Whether a mark-done statement names the event: one that does not would mark every row. Pure. */
export function namesId(statement: string): boolean {
  return statement.search(placeholder) !== -1;
}

/**
 * A mark-done statement with a parameter for each place of the id, so that no id is ever part of the statement. Pure.
 * @param parameter what the database calls its n-th parameter, from 1
 */
export function parameterizeId(
  statement: string,
  parameter: (n: number) => string,
): { text: string; parameters: number } {
  let parameters = 0;
  const text = withoutEnd(statement).replace(placeholder, () => parameter(++parameters));
  return { text, parameters };
}

/** A statement without the semicolon that ends it. Pure. */
export function withoutEnd(statement: string): string {
  return statement.trimEnd().replace(/;+$/, '').trimEnd();
}
