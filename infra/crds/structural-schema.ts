import { z } from 'zod';

/**
 * A structural schema, the part of OpenAPI v3 that the API server accepts in a CRD.
 * https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema
 */
export interface StructuralSchema {
  type: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  description?: string;
  format?: 'int64' | 'date-time';
  properties?: Record<string, StructuralSchema>;
  required?: string[];
  items?: StructuralSchema;
  additionalProperties?: StructuralSchema;
  default?: unknown;
  enum?: unknown[];
  pattern?: string;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  'x-kubernetes-list-type'?: 'atomic' | 'map' | 'set';
  'x-kubernetes-list-map-keys'?: string[];
  'x-kubernetes-validations'?: Validation[];
}

/** A CEL rule. A rule with `oldSelf` is checked on updates only. */
export interface Validation {
  rule: string;
  message: string;
}

const types = new Set(['object', 'array', 'string', 'integer', 'number', 'boolean']);
/** Keywords with the same meaning in both, which are copied. */
const commonKeywords = [
  ...(['description', 'default', 'enum', 'pattern', 'minimum', 'maximum'] as const),
  ...(['minLength', 'maxLength', 'minItems', 'maxItems', 'required'] as const),
];
/** Keywords that `convert` handles or that describe the document only. */
const supportedKeywords = new Set<string>([
  ...commonKeywords,
  '$schema',
  'type',
  'properties',
  'items',
  'additionalProperties',
  'const',
  'format',
]);

/**
 * The structural schema of a zod schema's input: defaults, limits and required fields as zod checks them, so that a
 * contract and its CRD cannot differ. @throws Error for what a structural schema cannot express, such as a union
 */
export function structuralSchema(schema: z.ZodType): StructuralSchema {
  return convert(z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>, '');
}

function convert(json: Record<string, unknown>, path: string): StructuralSchema {
  const unknown = Object.keys(json).find((keyword) => !supportedKeywords.has(keyword));
  if (unknown !== undefined || !types.has(String(json['type']))) {
    throw new Error(`not structural at "${path}": ${unknown ?? `type ${String(json['type'])}`}`);
  }
  const result: StructuralSchema = { type: json['type'] as StructuralSchema['type'] };
  for (const keyword of commonKeywords) {
    if (json[keyword] !== undefined) Object.assign(result, { [keyword]: json[keyword] });
  }
  if (json['const'] !== undefined) result.enum = [json['const']];
  if (result.type === 'integer') {
    result.format = 'int64';
    // zod adds the bounds of a safe integer to every integer.
    if (result.maximum === Number.MAX_SAFE_INTEGER) delete result.maximum;
    if (result.minimum === Number.MIN_SAFE_INTEGER) delete result.minimum;
  }
  if (json['format'] === 'date-time') {
    result.format = 'date-time';
    delete result.pattern;
  }
  if (json['properties']) {
    result.properties = Object.fromEntries(
      Object.entries(json['properties'] as Record<string, Record<string, unknown>>).map(([name, child]) => [
        name,
        convert(child, `${path}.${name}`),
      ]),
    );
  }
  if (json['items']) result.items = convert(json['items'] as Record<string, unknown>, `${path}[]`);
  return result;
}

/** The schema below `path`, such as `spec.environments`; `[]` steps into a list. @throws Error when there is none */
export function schemaAt(schema: StructuralSchema, path: string): StructuralSchema {
  let current: StructuralSchema | undefined = schema;
  for (const step of path.split('.')) {
    current = current?.properties?.[step.replace('[]', '')];
    if (step.endsWith('[]')) current = current?.items;
  }
  if (!current) throw new Error(`no field "${path}"`);
  return current;
}
