import { canonicalBytes, canonicalCpu } from '../../../runtime/domain/quantity.ts';
import { badRequest } from './api-error.ts';
import { modelSchema } from './model-schema.ts';
import { isJson, type Json, textIn } from './json.ts';
import { apiVersionOf, type ApiObject, type Resource } from './resource.ts';
import { applyDefaults, prune, validate } from './schema.ts';
import { elementOf, type Schema } from './structural.ts';

/** How strictly unknown fields are taken; what kubectl asks for by `--validate`. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

/** Fields that hold a map of quantities. */
const quantityMaps = new Set(
  ['requests', 'limits', 'hard', 'used', 'capacity', 'allocatable'].concat(['default', 'defaultRequest', 'max', 'min']),
);
/** Lists that are written even when they are empty. */
const keptLists = new Set(['endpoints', 'rules', 'containers']);

/**
 * An object as it came in, brought into the form in which it is kept: known fields only, of the right types, with
 * defaults. `warnings` gets a line for each field that was dropped.
 * @throws ApiError 400 for another kind, a wrong type, or an unknown field where that was asked to be strict
 */
export function decode(
  body: unknown,
  resource: Resource,
  options: { validation?: FieldValidation; warnings?: string[] } = {},
): ApiObject {
  if (!isJson(body)) throw badRequest('the body is no JSON object');
  const apiVersion = apiVersionOf(resource);
  const { kind } = resource;
  if (body['kind'] !== undefined && body['kind'] !== kind) {
    throw badRequest(
      `${textIn(body['kind'])} in version "${textIn(body['apiVersion'])}" cannot be handled as a ${kind}: no kind "${textIn(body['kind'])}" is registered for this path`,
    );
  }
  if (body['apiVersion'] !== undefined && body['apiVersion'] !== apiVersion) {
    throw badRequest(
      `the API version in the data (${textIn(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const given = isJson(body['metadata']) ? body['metadata'] : {};
  const { managedFields: _, selfLink: __, ...metadata } = given;
  const unknown: string[] = [];
  const object = {
    ...(prune({ ...body, metadata: undefined }, rootOf(resource), '', unknown) as Json),
    apiVersion,
    kind,
    metadata: normalise(prune(metadata, modelSchema('V1ObjectMeta'), 'metadata', unknown), modelSchema('V1ObjectMeta')),
  } as ApiObject;
  object.metadata.name ??= '';
  report(unknown, resource, options);
  if (!resource.custom) {
    for (const [name, value] of Object.entries(object)) {
      const schema = resource.schema.properties?.[name];
      if (schema && name !== 'metadata') object[name] = normalise(value, schema);
      if (object[name] === undefined) delete object[name];
    }
  }
  checkTypes(object, resource);
  applyDefaults(object, resource.schema);
  resource.strategy.default?.(object);
  return object;
}

/** The schema of the whole object, with what each object has. */
function rootOf({ schema }: Resource): Schema {
  const any: Schema = { 'x-kubernetes-preserve-unknown-fields': true };
  return { ...schema, properties: { ...schema.properties, apiVersion: any, kind: any, metadata: any } };
}

function report(
  unknown: readonly string[],
  { kind, version }: Resource,
  { validation = 'Warn', warnings }: { validation?: FieldValidation; warnings?: string[] },
): void {
  if (unknown.length === 0 || validation === 'Ignore') return;
  const lines = unknown.map((path) => `unknown field "${path}"`);
  if (validation === 'Strict') {
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: strict decoding error: ${lines.join(', ')}`,
    );
  }
  warnings?.push(...lines);
}

/** A built-in kind is decoded into types, so that a wrong one fails before anything else is looked at. */
function checkTypes(object: ApiObject, resource: Resource): void {
  const { kind, version } = resource;
  const schema = resource.custom ? { properties: { metadata: modelSchema('V1ObjectMeta') } } : resource.schema;
  const wrong = validate(object, schema, undefined)[0];
  if (wrong) {
    throw badRequest(
      `${kind} in version "${version}" cannot be handled as a ${kind}: ${wrong.field}: ${wrong.message}`,
    );
  }
}

/** As Go writes a built-in type: nothing that is null, no empty lists and maps, quantities in their canonical form. */
function normalise(value: unknown, schema: Schema): unknown {
  if (value === null) return undefined;
  if (Array.isArray(value)) {
    const { items } = schema;
    return value.length > 0 && items ? value.map((item) => normalise(item, items)) : value;
  }
  if (!isJson(value)) return value;
  const result: Json = {};
  for (const [name, child] of Object.entries(value)) {
    const known = schema.properties?.[name] ?? elementOf(schema);
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
  return Object.fromEntries(
    Object.entries(value).map(([resource, amount]) => [resource, canonical(resource, String(amount))]),
  );
}

function canonical(resource: string, quantity: string): string {
  if (resource.endsWith('cpu')) return canonicalCpu(quantity);
  return quantity.endsWith('i') ? canonicalBytes(quantity) : quantity;
}
