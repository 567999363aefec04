import { isJson } from './json.ts';

/** A CEL rule of a schema; one that names `oldSelf` is checked on updates only. */
export interface Rule {
  rule: string;
  message?: string;
}

/** The part of a structural schema that the server acts on. */
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

/** The schema of an object's field: a property, or a map's value. */
export function schemaOfField({ properties, additionalProperties }: Schema, name: string): Schema | undefined {
  return properties?.[name] ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined);
}

/** The schemas right below a schema. */
export function childrenOf({ properties = {}, items, additionalProperties }: Schema): Schema[] {
  return [...Object.values(properties), items, additionalProperties].filter((child) => typeof child === 'object');
}

/** A value with its schema, where it is, and what it was before. */
export interface Part {
  value: unknown;
  schema: Schema;
  path: string;
  old: unknown;
}

/** The items or fields of a value that its schema knows. */
export function partsOf({ value, schema, path, old }: Part): Part[] {
  const { items } = schema;
  if (Array.isArray(value)) {
    // Lists are compared as a whole.
    return value.flatMap((item: unknown, index) =>
      items ? [{ value: item, schema: items, path: `${path}[${index}]`, old: undefined }] : [],
    );
  }
  if (!isJson(value)) return [];
  return Object.entries(value).flatMap(([name, child]) => {
    const known = schemaOfField(schema, name);
    return known
      ? [{ value: child, schema: known, path: fieldPath(path, name), old: isJson(old) ? old[name] : undefined }]
      : [];
  });
}

/** Where a field of what is at a path is. */
export function fieldPath(path: string, name: string): string {
  return path ? `${path}.${name}` : name;
}
