import { isDeepStrictEqual } from 'node:util';
import type { Cause } from './api-error.ts';
import { codePoints, isJson, type Json } from './json.ts';
import { checkRules } from './schema-rules.ts';
import { elementOf, identityOf, type Schema } from './structural.ts';

const join = (path: string, name: string) => (path ? `${path}.${name}` : name);
const isOpen = (schema: Schema) =>
  schema['x-kubernetes-preserve-unknown-fields'] === true ||
  schema.additionalProperties === true ||
  schema.type === undefined ||
  // `type: object` with nothing said about the fields, as `metadata` has it.
  (schema.type === 'object' && !schema.properties && !schema.additionalProperties);

/** A copy without the fields that the schema does not know; their paths are added to `unknown`. */
export function prune(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item, index) => prune(item, items, `${path}[${index}]`, unknown)) : value;
  }
  if (!isJson(value)) return value;
  const result: Json = {};
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties?.[name] ?? elementOf(schema);
    if (known) result[name] = prune(child, known, join(path, name), unknown);
    else if (isOpen(schema)) result[name] = child;
    else unknown.push(join(path, name));
  }
  return result;
}

/** Fills in the schema's defaults. Changes its argument. */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (Array.isArray(value)) {
    for (const item of value) if (schema.items) applyDefaults(item, schema.items);
    return;
  }
  if (!isJson(value)) return;
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    if (value[name] === null && child.nullable !== true && child.default !== undefined) delete value[name];
    if (value[name] === undefined && child.default !== undefined) value[name] = structuredClone(child.default);
    applyDefaults(value[name], child);
  }
  const element = elementOf(schema);
  if (element) for (const child of Object.values(value)) applyDefaults(child, element);
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const shown = (value: unknown) => (isJson(value) || Array.isArray(value) ? JSON.stringify(value) : quoted(value));
const quoted = (value: unknown) => (typeof value === 'string' ? JSON.stringify(value) : String(value));

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (Number.isInteger(value)) return 'integer';
  return typeof value;
}

function hasType(value: unknown, schema: Schema): boolean {
  const actual = typeOf(value);
  if (schema['x-kubernetes-int-or-string']) return actual === 'integer' || actual === 'string';
  if (schema.type === undefined || actual === schema.type) return true;
  return (actual === 'integer' && schema.type === 'number') || (actual === 'null' && schema.nullable === true);
}

/**
 * What is wrong with a value, in the words of the API server. A part that is as it was before is not judged again, so
 * that a schema that grew stricter does not lock an older object.
 */
export function validate(value: unknown, schema: Schema, old: unknown): Cause[] {
  const causes = check(value, schema, '', old, true);
  if (causes.length === 0) return checkRules(value, schema, '', old);
  if (hasRules(schema)) {
    const message =
      'Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    causes.push({ reason: 'FieldValueInvalid', message, field: '<nil>' });
  }
  return causes;
}

function hasRules(schema: Schema): boolean {
  if (schema['x-kubernetes-validations']?.length) return true;
  const children = [...Object.values(schema.properties ?? {}), schema.items, elementOf(schema)];
  return children.some((child) => child !== undefined && hasRules(child));
}

function check(value: unknown, schema: Schema, path: string, old: unknown, root = false): Cause[] {
  if (!root && old !== undefined && isDeepStrictEqual(value, old)) return [];
  if (!hasType(value, schema)) {
    const type = schema['x-kubernetes-int-or-string'] ? 'integer,string' : String(schema.type);
    const message = `Invalid value: "${typeOf(value)}": ${path} in body must be of type ${type}: "${typeOf(value)}"`;
    return [{ reason: 'FieldValueTypeInvalid', message, field: path }];
  }
  if (Array.isArray(value)) return checkArray(value, schema, path, old);
  if (isJson(value)) return checkObject(value, schema, path, old);
  return checkScalar(value, schema, path);
}

function checkObject(value: Json, schema: Schema, path: string, old: unknown): Cause[] {
  const before = isJson(old) ? old : {};
  const causes = Object.keys(value)
    .sort()
    .flatMap((name) => {
      const known = schema.properties?.[name] ?? elementOf(schema);
      return known ? check(value[name], known, join(path, name), before[name]) : [];
    });
  for (const name of schema.required ?? []) {
    if (value[name] !== undefined) continue;
    causes.push({ reason: 'FieldValueRequired', message: 'Required value', field: join(path, name) });
  }
  return causes;
}

function checkArray(value: unknown[], schema: Schema, path: string, old: unknown): Cause[] {
  const { items, minItems, maxItems } = schema;
  const causes: Cause[] = [];
  if (maxItems !== undefined && value.length > maxItems) {
    const message = `Too many: ${value.length}: must have at most ${maxItems} items`;
    causes.push({ reason: 'FieldValueTooMany', message, field: path });
  }
  if (minItems !== undefined && value.length < minItems) {
    const message = `Invalid value: ${value.length}: ${path} in body should have at least ${minItems} items`;
    causes.push({ reason: 'FieldValueInvalid', message, field: path });
  }
  const identity = identityOf(schema);
  const seen = new Set<string>();
  const before = Array.isArray(old) ? (old as unknown[]) : [];
  for (const [index, item] of value.entries()) {
    const id = identity?.(item);
    if (id !== undefined && seen.has(id)) {
      causes.push({ reason: 'FieldValueDuplicate', message: `Duplicate value: ${id}`, field: `${path}[${index}]` });
    }
    if (id !== undefined) seen.add(id);
    const counterpart = identity ? before.find((other) => identity(other) === id) : undefined;
    if (items) causes.push(...check(item, items, `${path}[${index}]`, counterpart));
  }
  return causes;
}

function checkScalar(value: unknown, schema: Schema, path: string): Cause[] {
  const causes: Cause[] = [];
  const wrong = (why: string) =>
    causes.push({
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${shown(value)}: ${path} in body ${why}`,
      field: path,
    });
  if (schema.enum && !schema.enum.includes(value)) {
    const supported = schema.enum.map(quoted).join(', ');
    const message = `Unsupported value: ${quoted(value)}: supported values: ${supported}`;
    causes.push({ reason: 'FieldValueNotSupported', message, field: path });
  }
  if (typeof value === 'string') {
    const { minLength, maxLength, pattern, format } = schema;
    const length = codePoints(value);
    if (maxLength !== undefined && length > maxLength) {
      const message = `Too long: may not be more than ${maxLength} bytes`;
      causes.push({ reason: 'FieldValueTooLong', message, field: path });
    }
    // Of these the real server tells the first one only.
    if (minLength !== undefined && length < minLength) wrong(`should be at least ${minLength} chars long`);
    else if (pattern !== undefined && !new RegExp(pattern).test(value)) wrong(`should match '${pattern}'`);
    if (format === 'byte' && !base64.test(value)) wrong('must be base64');
    if (format === 'date-time' && !/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)) {
      wrong(`must be of type date-time: ${JSON.stringify(value)}`);
    }
  }
  if (typeof value === 'number') {
    const { minimum, maximum } = schema;
    if (minimum !== undefined && value < minimum) wrong(`should be greater than or equal to ${minimum}`);
    if (maximum !== undefined && value > maximum) wrong(`should be less than or equal to ${maximum}`);
  }
  return causes;
}
