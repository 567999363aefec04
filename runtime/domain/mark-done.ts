/** The placeholder for the event's id in a mark-done statement, with or without quotes around it. */
const placeholder = /'\{\{\s*id\s*\}\}'|"\{\{\s*id\s*\}\}"|\{\{\s*id\s*\}\}/g;

/** Whether a mark-done statement contains the placeholder; otherwise it would mark every row. Pure. */
export function namesId(statement: string): boolean {
  return statement.search(placeholder) !== -1;
}

/**
 * A mark-done statement with a parameter for each placeholder, so that an id is never part of the statement. Pure.
 * @param parameter the database's name of its n-th parameter, from 1
 */
export function parameterizeId(
  statement: string,
  parameter: (n: number) => string,
): { text: string; parameters: number } {
  let parameters = 0;
  const text = withoutEnd(statement).replace(placeholder, () => parameter(++parameters));
  return { text, parameters };
}

/** A statement without its final semicolon. Pure. */
export function withoutEnd(statement: string): string {
  return statement
    .trimEnd()
    .replace(/(?<!;);+$/, '')
    .trimEnd();
}
