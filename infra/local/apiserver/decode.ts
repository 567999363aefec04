import { canonicalBytes, canonicalCpu } from '../../../runtime/domain/quantity.ts';
import { badRequest } from './api-error.ts';
import { isJson, textIn, type Json } from './json.ts';
import { modelSchema } from './model-schema.ts';
import { apiVersionOf, type ApiObject, type Resource } from './resource.ts';
import { applyDefaults, prune, validate } from './schema.ts';
import { schemaOfField, type Schema } from './structural.ts';

/** Fields with a map of quantities. */
const quantityMaps = new Set([
  'requests',
  'limits',
  'hard',
  'used',
  'capacity',
  'default',
  'defaultRequest',
  'max',
  'min',
]);
/** Lists that are stored even when empty. */
const alwaysWrittenLists = new Set(['endpoints', 'rules', 'containers']);

const anySchema: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

/**
 * Converts a request's object into its stored form: known fields of the right types, with defaults.
 * @throws ApiError 400 for another kind, a wrong type, or, if `strict`, an unknown field
 */
export function decode(body: unknown, resource: Resource, strict = false): ApiObject {
  if (!isJson(body)) throw badRequest('the body is not a JSON object');
  const { kind, custom } = resource;
  const apiVersion = apiVersionOf(resource);
  const fail = (reason: string) =>
    badRequest(`${kind} in version "${resource.version}" cannot be handled as a ${kind}: ${reason}`);
  if ((body['kind'] ?? kind) !== kind) throw fail(`the kind in the data is ${textIn(body['kind'])}`);
  if ((body['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(
      `the API version in the data (${textIn(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const metadata = modelSchema('V1ObjectMeta');
  const bodyMetadata = isJson(body['metadata']) ? body['metadata'] : {};
  const { managedFields: _, selfLink: __, ...writableMetadata } = bodyMetadata;
  const properties = { ...resource.schema.properties, apiVersion: anySchema, kind: anySchema, metadata };
  const unknown: string[] = [];
  const pruned = prune(
    { ...body, metadata: writableMetadata },
    { ...resource.schema, properties },
    '',
    unknown,
  ) as Json;
  const list = unknown.map((path) => `unknown field "${path}"`).join(', ');
  if (list && strict) throw fail(`strict decoding error: ${list}`);

  // The real server decodes built-in kinds into Go types, so that a wrong type fails first.
  const goTypes: Schema = { properties: custom ? { metadata } : properties };
  const object = { ...(normalise(pruned, goTypes) as Json), apiVersion, kind } as ApiObject;
  object.metadata.name ??= '';
  const [wrong] = validate(object, goTypes, undefined);
  if (wrong) throw fail(`${wrong.field}: ${wrong.message}`);
  applyDefaults(object, resource.schema);
  resource.default?.(object);
  return object;
}

/** Serializes like Go's built-in types: no null, no empty lists and maps, canonical quantities. */
function normalise(value: unknown, schema: Schema): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item) => normalise(item, items)) : value;
  }
  if (!isJson(value)) return value;
  const result: Json = {};
  for (const [name, child] of Object.entries(value)) {
    const childSchema = schemaOfField(schema, name);
    const next = childSchema ? normalise(quantities(name, child, childSchema), childSchema) : child;
    if (next !== undefined && !(childSchema && isOmitted(name, next, childSchema))) result[name] = next;
  }
  return result;
}

function isOmitted(name: string, value: unknown, schema: Schema): boolean {
  if (Array.isArray(value)) return value.length === 0 && !alwaysWrittenLists.has(name);
  return isJson(value) && schema.additionalProperties !== undefined && Object.keys(value).length === 0;
}

function quantities(name: string, value: unknown, schema: Schema): unknown {
  if (!quantityMaps.has(name) || schema.additionalProperties === undefined || !isJson(value)) return value;
  const amounts = Object.entries(value).map(([resource, amount]) => [resource, canonical(resource, String(amount))]);
  return Object.fromEntries(amounts);
}

function canonical(resource: string, quantity: string): string {
  if (resource.endsWith('cpu')) return canonicalCpu(quantity);
  return quantity.endsWith('i') ? canonicalBytes(quantity) : quantity;
}
