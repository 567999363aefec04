import { isDeepStrictEqual } from 'node:util';
import type { Cause } from './causes.ts';
import { invalidValue, requiredValue, unsupportedValue } from './causes.ts';
import { codePoints, isJson, type Json } from './json.ts';
import { checkRules, rulesIn } from './schema-rules.ts';
import { childrenOf, fieldPath, partsOf, schemaOfField, type Part, type Schema } from './structural.ts';

const isOpen = (schema: Schema) =>
  schema['x-kubernetes-preserve-unknown-fields'] === true ||
  schema.additionalProperties === true ||
  schema.type === undefined ||
  // `type: object` without fields, as for `metadata`.
  (schema.type === 'object' && childrenOf(schema).length === 0);

/** A copy without unknown fields. Their paths are added to `unknown`. */
export function prune(value: unknown, schema: Schema, path: string, unknown: string[]): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item, index) => prune(item, items, `${path}[${index}]`, unknown)) : value;
  }
  if (!isJson(value)) return value;
  const result: Json = {};
  for (const [name, child] of Object.entries(value)) {
    const childSchema = schemaOfField(schema, name);
    if (childSchema) result[name] = prune(child, childSchema, fieldPath(path, name), unknown);
    else if (isOpen(schema)) result[name] = child;
    else unknown.push(fieldPath(path, name));
  }
  return result;
}

/** Sets the schema's defaults. Changes its argument. */
export function applyDefaults(value: unknown, schema: Schema): void {
  if (isJson(value)) {
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      if (child.default === undefined) continue;
      if (value[name] === null && child.nullable !== true) delete value[name];
      if (value[name] === undefined) value[name] = structuredClone(child.default);
    }
  }
  for (const part of partsOf({ value, schema, path: '', old: undefined })) applyDefaults(part.value, part.schema);
}

/**
 * Validates a value, with the API server's messages. Unchanged parts are not validated again, so that a stricter schema
 * does not block updates of older objects.
 */
export function validate(value: unknown, schema: Schema, old: unknown): Cause[] {
  const root = { value, schema, path: '', old };
  const causes = check(root);
  if (causes.length === 0) return checkRules(root);
  if (rulesIn(schema).length > 0) {
    const message =
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation';
    causes.push(invalidValue('<nil>', null, message));
  }
  return causes;
}

function check(part: Part): Cause[] {
  const { value, schema, path } = part;
  if (!hasType(value, schema)) {
    const type = schema['x-kubernetes-int-or-string'] ? 'integer,string' : String(schema.type);
    const message = `Invalid value: "${typeOf(value)}": ${path} in body must be of type ${type}: "${typeOf(value)}"`;
    return [{ reason: 'FieldValueTypeInvalid', message, field: path }];
  }
  const changed = partsOf(part).filter(
    (inner) => inner.old === undefined || !isDeepStrictEqual(inner.value, inner.old),
  );
  return [...checkOwn(part), ...changed.flatMap(check)];
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return Number.isInteger(value) ? 'integer' : typeof value;
}

function hasType(value: unknown, schema: Schema): boolean {
  const actual = typeOf(value);
  if (schema['x-kubernetes-int-or-string']) return actual === 'integer' || actual === 'string';
  if (schema.type === undefined || actual === schema.type) return true;
  return (actual === 'integer' && schema.type === 'number') || (actual === 'null' && schema.nullable === true);
}

function checkOwn({ value, schema, path }: Part): Cause[] {
  if (Array.isArray(value)) return checkArray(value, schema, path);
  if (!isJson(value)) return checkScalar(value, schema, path);
  const missing = (schema.required ?? []).filter((name) => value[name] === undefined);
  return missing.map((name) => requiredValue(fieldPath(path, name)));
}

function checkArray(value: unknown[], schema: Schema, path: string): Cause[] {
  const { minItems = 0, maxItems = Number.POSITIVE_INFINITY } = schema;
  const causes: Cause[] = [];
  if (value.length > maxItems) {
    const message = `Too many: ${value.length}: must have at most ${maxItems} items`;
    causes.push({ reason: 'FieldValueTooMany', message, field: path });
  }
  if (value.length < minItems) {
    causes.push(invalidValue(path, value.length, `${path} in body should have at least ${minItems} items`));
  }
  return causes;
}

const formats: Readonly<Record<string, RegExp>> = {
  byte: /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
};

function checkScalar(value: unknown, schema: Schema, path: string): Cause[] {
  const causes: Cause[] = [];
  const addCause = (reason: string) => causes.push(invalidValue(path, value, `${path} in body ${reason}`));
  if (schema.enum && !schema.enum.includes(value)) causes.push(unsupportedValue(path, value, schema.enum));
  if (typeof value === 'string') {
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY, pattern = '', format = '' } = schema;
    const length = codePoints(value);
    if (length > maxLength) {
      const message = `Too long: may not be more than ${maxLength} bytes`;
      causes.push({ reason: 'FieldValueTooLong', message, field: path });
    }
    // The real server reports only the first of these two.
    if (length < minLength) addCause(`should be at least ${minLength} chars long`);
    else if (!new RegExp(pattern).test(value)) addCause(`should match '${pattern}'`);
    if (formats[format]?.test(value) === false) addCause(`must be of type ${format}`);
  }
  if (typeof value === 'number') {
    const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
    if (value < minimum) addCause(`should be greater than or equal to ${minimum}`);
    if (value > maximum) addCause(`should be less than or equal to ${maximum}`);
  }
  return causes;
}
