import { canonicalBytes, canonicalCpu } from '../../../runtime/domain/quantity.ts';
import { badRequest } from './api-error.ts';
import { isJson, textIn, type Json } from './json.ts';
import { modelSchema } from './model-schema.ts';
import { apiVersionOf, type ApiObject, type Resource } from './resource.ts';
import { applyDefaults, prune, validate } from './schema.ts';
import { schemaOfField, type Schema } from './structural.ts';

/** Fields that hold a map of quantities. */
const quantityMaps = new Set([
  ...['requests', 'limits', 'hard', 'used', 'capacity'],
  ...['default', 'defaultRequest', 'max', 'min'],
]);
/** Lists that are written even when they are empty. */
const keptLists = new Set(['endpoints', 'rules', 'containers']);

const anything: Schema = { 'x-kubernetes-preserve-unknown-fields': true };

/**
 * An object as it came in, brought into the form in which it is kept: known fields only, of the right types, with
 * defaults.
 * @throws ApiError 400 for another kind, a wrong type, or an unknown field where that was asked to be strict
 */
export function decode(body: unknown, resource: Resource, strict = false): ApiObject {
  if (!isJson(body)) throw badRequest('the body is no JSON object');
  const { kind, custom } = resource;
  const apiVersion = apiVersionOf(resource);
  const fail = (why: string) =>
    badRequest(`${kind} in version "${resource.version}" cannot be handled as a ${kind}: ${why}`);
  if ((body['kind'] ?? kind) !== kind) throw fail(`the kind in the data is ${textIn(body['kind'])}`);
  if ((body['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(
      `the API version in the data (${textIn(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const metadata = modelSchema('V1ObjectMeta');
  const given = isJson(body['metadata']) ? body['metadata'] : {};
  const { managedFields: _, selfLink: __, ...kept } = given;
  const properties = { ...resource.schema.properties, apiVersion: anything, kind: anything, metadata };
  const unknown: string[] = [];
  const pruned = prune({ ...body, metadata: kept }, { ...resource.schema, properties }, '', unknown) as Json;
  const list = unknown.map((path) => `unknown field "${path}"`).join(', ');
  if (list && strict) throw fail(`strict decoding error: ${list}`);

  // A built-in kind is decoded into types, so that a wrong one fails before anything else is looked at.
  const typed: Schema = { properties: custom ? { metadata } : properties };
  const object = { ...(normalise(pruned, typed) as Json), apiVersion, kind } as ApiObject;
  object.metadata.name ??= '';
  const [wrong] = validate(object, typed, undefined);
  if (wrong) throw fail(`${wrong.field}: ${wrong.message}`);
  applyDefaults(object, resource.schema);
  resource.default?.(object);
  return object;
}

/** As Go writes a built-in type: nothing that is null, no empty lists and maps, quantities in their canonical form. */
function normalise(value: unknown, schema: Schema): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    const { items } = schema;
    return items ? value.map((item) => normalise(item, items)) : value;
  }
  if (!isJson(value)) return value;
  const result: Json = {};
  for (const [name, child] of Object.entries(value)) {
    const known = schemaOfField(schema, name);
    const next = known ? normalise(quantities(name, child, known), known) : child;
    if (next !== undefined && !(known && isLeftOut(name, next, known))) result[name] = next;
  }
  return result;
}

function isLeftOut(name: string, value: unknown, schema: Schema): boolean {
  if (Array.isArray(value)) return value.length === 0 && !keptLists.has(name);
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
