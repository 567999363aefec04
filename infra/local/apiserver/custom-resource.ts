import type { Cause } from './api-error.ts';
import { invalidValue } from './causes.ts';
import { age, nameColumn } from './builtin/columns.ts';
import { objects, valueAt } from './json.ts';
import { timestamp, type ApiObject, type Column, type Resource } from './resource.ts';
import { patternFault } from './re2.ts';
import { ruleOf, rulesIn } from './schema-rules.ts';
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

/** The finalizer of a definition that is being deleted, until its objects are gone. */
export const customResourceCleanup = 'customresourcecleanup.apiextensions.k8s.io';

/** The resources that a definition makes, one a version. */
export function customResources(definition: ApiObject): Resource[] {
  const { group, scope, names, versions } = definition.spec as DefinitionSpec;
  return versions
    .filter(({ served }) => served)
    .map((version) => {
      const schema = version.schema?.openAPIV3Schema ?? { 'x-kubernetes-preserve-unknown-fields': true };
      return {
        ...{ shortNames: [], categories: [] },
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
 * What a JSONPath such as `.status.conditions[?(@.type=="Ready")].status` leads to.
 * @throws Error for one that does more than follow fields and pick from a list
 */
export function jsonPath(path: string): (object: unknown) => unknown {
  const steps: ((value: unknown) => unknown)[] = [];
  const pattern = new RegExp(pathStep);
  while (pattern.lastIndex < path.length) {
    const [, name = '', key, wanted] = pattern.exec(path) ?? [];
    if (!name) throw new Error(`cannot read the path "${path}"`);
    steps.push((value) => valueAt(value, name));
    if (key) steps.push((value) => objects(value).find((item) => item[key] === wanted));
  }
  return (object) => steps.reduce((value, step) => step(value), object);
}

function columnOf({ jsonPath: path, ...column }: PrinterColumn): Column {
  return { ...column, age: column.type === 'date', value: jsonPath(path) };
}

/** What is wrong with a definition: its name, a pattern, or what the server does not understand, a rule or the path of a column. */
export function checkDefinition(definition: ApiObject): Cause[] {
  const { group, names, versions } = definition.spec as DefinitionSpec;
  const { name } = definition.metadata;
  if (name !== `${names.plural}.${group}`) {
    return [invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group')];
  }
  try {
    customResources(definition);
    for (const { schema } of versions) for (const { rule } of rulesIn(schema?.openAPIV3Schema ?? {})) ruleOf(rule);
    return versions.flatMap(({ schema }, index) => {
      // Where there is one, the API server holds its schema for all versions.
      const place = versions.length === 1 ? 'spec.validation' : `spec.versions[${index}].schema`;
      return patternCauses(schema?.openAPIV3Schema ?? {}, `${place}.openAPIV3Schema`);
    });
  } catch (error) {
    return [invalidValue('spec.versions', undefined, error instanceof Error ? error.message : String(error))];
  }
}

function patternCauses({ pattern, properties = {}, items, additionalProperties }: Schema, path: string): Cause[] {
  const fault = pattern === undefined ? undefined : patternFault(pattern);
  return [
    ...(fault ? [invalidValue(`${path}.pattern`, pattern, fault.message)] : []),
    ...Object.entries(properties).flatMap(([name, child]) => patternCauses(child, `${path}.properties[${name}]`)),
    ...(items ? patternCauses(items, `${path}.items`) : []),
    ...(typeof additionalProperties === 'object'
      ? patternCauses(additionalProperties, `${path}.additionalProperties`)
      : []),
  ];
}

/** The status of a definition that the server has taken over; it is served from then on. Pure. */
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

/** A definition that is being deleted stays until its objects are gone. Pure. */
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
