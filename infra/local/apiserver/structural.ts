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
  'x-kubernetes-list-type'?: string;
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: Rule[];
}

/** The schema of a map's values. */
export function elementOf({ additionalProperties }: Schema): Schema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** How the items of a list of type `map` or `set` are told apart. */
export function identityOf(schema: Schema): ((item: unknown) => string) | undefined {
  const keys = schema['x-kubernetes-list-map-keys'];
  if (schema['x-kubernetes-list-type'] === 'set') return (item) => JSON.stringify(item);
  if (schema['x-kubernetes-list-type'] !== 'map' || !keys) return undefined;
  return (item) => JSON.stringify(Object.fromEntries(keys.map((key) => [key, isJson(item) ? item[key] : undefined])));
}
