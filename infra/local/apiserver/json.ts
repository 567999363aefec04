/** A JSON object. */
export type Json = Record<string, unknown>;

/** The value at a path of an object, undefined where there is none. */
export function valueAt(object: unknown, path: string): unknown {
  let value = object;
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Json)[step];
  }
  return value;
}

/** Whether a value is a JSON object. */
export function isJson(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A string, number or boolean as text; empty for anything else. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The length of a string as OpenAPI and CEL count it. */
export function codePoints(value: string): number {
  return Array.from(value).length;
}
