import { isJson } from './json.ts';

/** A CEL rule of a schema. A rule with `oldSelf` applies only to updates. */
export interface Rule {
  rule: string;
  message?: string;
}

/** The supported part of a structural schema. */
export interface Schema {
  type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  format?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  additionalProperties?: Schema | boolean;
  default?: unknown;
  nullable?: boolean;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  'x-kubernetes-preserve-unknown-fields'?: boolean;
  'x-kubernetes-int-or-string'?: boolean;
  'x-kubernetes-validations'?: Rule[];
}

/** The schema of a field: a property, or the value of a map. */
export function schemaOfField({ properties, additionalProperties }: Schema, name: string): Schema | undefined {
  return properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

/** The direct child schemas. */
export function childrenOf({ properties = {}, items, additionalProperties }: Schema): Schema[] {
  return [...Object.values(properties), items, additionalProperties].filter((child) => typeof child === 'object');
}

/** A value with its schema, its path and its old value. */
export interface Part {
  value: unknown;
  schema: Schema;
  path: string;
  old: unknown;
}

/** The items or fields of a value that have a schema. */
export function partsOf({ value, schema, path, old }: Part): Part[] {
  const { items } = schema;
  if (Array.isArray(value)) {
    // Lists are compared as a whole, so their items have no old value.
    return value.flatMap((item: unknown, index) =>
      items ? [{ value: item, schema: items, path: `${path}[${index}]`, old: undefined }] : [],
    );
  }
  if (!isJson(value)) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const childSchema = schemaOfField(schema, name);
    return childSchema
      ? [{ value: child, schema: childSchema, path: fieldPath(path, name), old: isJson(old) ? old[name] : undefined }]
      : [];
  });
}

/** The path of a field of the value at `path`. */
export function fieldPath(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}
