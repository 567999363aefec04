import type { Cause } from './causes.ts';
import { invalidValue } from './causes.ts';
import { age, nameColumn } from './builtin/columns.ts';
import { objects, valueAt } from './json.ts';
import { timestamp, type ApiObject, type Column, type Resource } from './resource.ts';
import { isPortablePattern } from './pattern.ts';
import { compileRule, rulesIn } from './schema-rules.ts';
import type { Schema } from './structural.ts';

/** A column of `kubectl get`, by a JSONPath. */
type PrinterColumn = Omit<Column, 'age' | 'value'> & { jsonPath: string };

/** The part of a CustomResourceDefinition that the server acts on. */
interface DefinitionSpec {
  group: string;
  scope: 'Namespaced' | 'Cluster';
  names: {
    kind: string;
    plural: string;
    singular: string;
    listKind: string;
    shortNames?: string[];
    categories?: string[];
  };
  versions: {
    name: string;
    served: boolean;
    storage: boolean;
    schema?: { openAPIV3Schema?: Schema };
    subresources?: { status?: object; scale?: object };
    additionalPrinterColumns?: PrinterColumn[];
  }[];
}

/** The finalizer that keeps a deleted definition until its objects are gone. */
export const customResourceCleanup = 'customresourcecleanup.apiextensions.k8s.io';

/** The resources of a definition, one for each served version. */
export function customResources(definition: ApiObject): Resource[] {
  const { group, scope, names, versions } = definition.spec as DefinitionSpec;
  return versions
    .filter(({ served }) => served)
    .map((version) => {
      const schema = version.schema?.openAPIV3Schema ?? { 'x-kubernetes-preserve-unknown-fields': true };
      return {
        shortNames: [],
        categories: [],
        ...names,
        group,
        version: version.name,
        namespaced: scope === 'Namespaced',
        generation: true,
        status: version.subresources?.status !== undefined,
        scale: false,
        unconditionalUpdate: false,
        names: 'subdomain' as const,
        schema,
        columns: [nameColumn, ...(version.additionalPrinterColumns?.map(columnOf) ?? [age])],
        custom: true,
      };
    });
}

const pathStep = /\.([\w-]+)(?:\[\?\(@\.(\w+)=="([^"]*)"\)\])?/y;

/**
 * Compiles a JSONPath such as `.status.conditions[?(@.type=="Ready")].status`.
 * @throws Error for anything but fields and filters on equality
 */
export function jsonPath(path: string): (object: unknown) => unknown {
  const steps: ((value: unknown) => unknown)[] = [];
  const pattern = new RegExp(pathStep);
  while (pattern.lastIndex < path.length) {
    const [, name = '', key, expected] = pattern.exec(path) ?? [];
    if (!name) throw new Error(`unsupported JSONPath "${path}"`);
    steps.push((value) => valueAt(value, name));
    if (key) steps.push((value) => objects(value).find((item) => item[key] === expected));
  }
  return (object) => steps.reduce((value, step) => step(value), object);
}

function columnOf({ jsonPath: path, ...column }: PrinterColumn): Column {
  return { ...column, age: column.type === 'date', value: jsonPath(path) };
}

/** Checks a definition: its name, its patterns, and whether the server supports its rules and columns. */
export function checkDefinition(definition: ApiObject): Cause[] {
  const { group, names, versions } = definition.spec as DefinitionSpec;
  const { name } = definition.metadata;
  if (name !== `${names.plural}.${group}`) {
    return [invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
  }
  try {
    customResources(definition);
    for (const { schema } of versions) for (const { rule } of rulesIn(schema?.openAPIV3Schema ?? {})) compileRule(rule);
    return versions.flatMap(({ schema }, index) => {
      // The real server reports a single version's schema at this path.
      const place = versions.length === 1 ? 'spec.validation' : `spec.versions[${index}].schema`;
      return patternCauses(schema?.openAPIV3Schema ?? {}, `${place}.openAPIV3Schema`);
    });
  } catch (error) {
    return [invalidValue('spec.versions', undefined, error instanceof Error ? error.message : String(error))];
  }
}

const unportable =
  'must be a regular expression that RE2 and JavaScript read alike: no lookaround, backreferences, named groups, inline flags, POSIX or Unicode classes';

function patternCauses({ pattern, properties = {}, items, additionalProperties }: Schema, path: string): Cause[] {
  const isValid = pattern === undefined || isPortablePattern(pattern);
  return [
    ...(isValid ? [] : [invalidValue(`${path}.pattern`, pattern, unportable)]),
    ...Object.entries(properties).flatMap(([name, child]) => patternCauses(child, `${path}.properties[${name}]`)),
    ...(items ? patternCauses(items, `${path}.items`) : []),
    ...(typeof additionalProperties === 'object'
      ? patternCauses(additionalProperties, `${path}.additionalProperties`)
      : []),
  ];
}

/** The status of a definition that the server serves from now on. Pure. */
export function establishedStatus(definition: ApiObject, now: Date): object {
  const { names, versions } = definition.spec as DefinitionSpec;
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found', now),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted', now),
    ],
    acceptedNames: names,
    storedVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
  };
}

/** A definition that is being deleted. It stays until its objects are gone. Pure. */
export function terminatingDefinition(definition: ApiObject, now: Date): ApiObject {
  const { conditions = [], ...status } = definition.status as { conditions?: object[] };
  const { metadata } = definition;
  const message = 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon';
  const terminating = condition('Terminating', 'InstanceDeletionPending', message, now);
  const finalizers = [...new Set([...(metadata.finalizers ?? []), customResourceCleanup])];
  return {
    ...definition,
    metadata: { ...metadata, finalizers },
    status: { ...status, conditions: [...conditions, terminating] },
  };
}

function condition(type: string, reason: string, message: string, now: Date): object {
  return { type, status: 'True', reason, message, lastTransitionTime: timestamp(now) };
}
