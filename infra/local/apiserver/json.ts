/** A JSON object. */
export type Json = Record<string, unknown>;

/** The value at a path; undefined when it does not exist. */
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

/** The objects of a list field. */
export function objects(value: unknown): Json[] {
  return Array.isArray(value) ? value.filter(isJson) : [];
}

/** The object in a field, created if it does not exist. */
export function section(parent: Json, name: string): Json {
  const value = parent[name];
  if (isJson(value)) return value;
  const created: Json = {};
  parent[name] = created;
  return created;
}

/** A string, number or boolean as text; an empty string for anything else. */
export function textIn(value: unknown): string {
  if (typeof value === 'string') return value;
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : '';
}

/** The length of a string as OpenAPI and CEL count it. */
export function codePoints(value: string): number {
  return Array.from(value).length;
}

/** Applies a JSON merge patch (RFC 7386). Does not change its arguments. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isJson(patch)) return patch;
  const result: Json = isJson(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = mergePatch(result[key], value);
  }
  return result;
}
