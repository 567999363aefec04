import * as client from '@kubernetes/client-node';
import { typeDefaults } from './builtin/defaults.ts';
import type { Schema } from './structural.ts';

interface Model {
  attributeTypeMap: readonly { baseName: string; type: string; format: string }[];
}

const models = client as unknown as Readonly<Record<string, Partial<Model>>>;
const schemas = new Map<string, Schema>();

/**
 * The schema of a built-in type such as `V1Deployment`, from the client library's type descriptions, which are
 * generated from Kubernetes' OpenAPI. They have fields and types, but neither limits nor required fields.
 * @throws Error for a type that the library does not have
 */
export function modelSchema(name: string): Schema {
  let schema = schemas.get(name);
  if (!schema) {
    // Stored before it is complete, since types may contain themselves.
    const properties: Record<string, Schema> = {};
    schema = { type: 'object', properties };
    schemas.set(name, schema);
    const attributes = models[name]?.attributeTypeMap;
    if (!attributes) throw new Error(`the client library has no type ${name}`);
    const defaults = typeDefaults[name] ?? {};
    for (const { baseName, type, format } of attributes) {
      const child = schemaOf(type, format);
      properties[baseName] = baseName in defaults ? { ...child, default: defaults[baseName] } : child;
    }
  }
  return schema;
}

function schemaOf(type: string, format: string): Schema {
  const list = /^Array<(.*)>$/.exec(type)?.[1];
  if (list !== undefined) return { type: 'array', items: schemaOf(list, format) };
  const map = /^\{ \[key: string\]: (.*); \}$/.exec(type)?.[1];
  if (map !== undefined) return { type: 'object', additionalProperties: schemaOf(map, format) };
  switch (type) {
    case 'string':
    case 'boolean':
      return { type, ...(format && { format }) };
    case 'number':
      return { type: format.startsWith('int') ? 'integer' : 'number' };
    case 'Date':
    case 'V1MicroTime':
      return { type: 'string', format: 'date-time' };
    case 'IntOrString':
      return { 'x-kubernetes-int-or-string': true };
    case 'any':
    case 'object':
    // A definition's schema is stored unchanged.
    case 'V1JSONSchemaProps':
      return { 'x-kubernetes-preserve-unknown-fields': true };
    default:
      return modelSchema(type);
  }
}
