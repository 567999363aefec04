import type { Cause } from './api-error.ts';
import { jsonPath } from './json-path.ts';
import { timestamp, type ApiObject, type Column, type Resource } from './resource.ts';
import { ruleOf } from './schema-rules.ts';
import { elementOf, type Rule, type Schema } from './structural.ts';

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
    additionalPrinterColumns?: {
      name: string;
      type: Column['type'];
      jsonPath: string;
      priority?: number;
      description?: string;
    }[];
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
        group,
        version: version.name,
        kind: names.kind,
        plural: names.plural,
        singular: names.singular,
        shortNames: names.shortNames ?? [],
        categories: names.categories ?? [],
        namespaced: scope === 'Namespaced',
        generation: true,
        status: version.subresources?.status !== undefined,
        scale: false,
        unconditionalUpdate: false,
        names: 'subdomain' as const,
        schema,
        strategy: {},
        columns: columnsOf(version.additionalPrinterColumns),
        custom: true,
      };
    });
}

const nameColumn: Column = { name: 'Name', type: 'string', format: 'name', value: ({ metadata }) => metadata.name };
const ageColumn = { name: 'Age', type: 'date' as const, jsonPath: '.metadata.creationTimestamp' };

function columnsOf(columns: DefinitionSpec['versions'][number]['additionalPrinterColumns']): Column[] {
  const printed = (columns?.length ? columns : [ageColumn]).map(({ jsonPath: path, ...column }): Column => {
    const read = jsonPath(path);
    return { ...column, age: column.type === 'date', value: (object) => read(object)[0] };
  });
  return [nameColumn, ...printed];
}

/** What the server does not understand of a definition: a rule, or the path of a column. */
export function checkDefinition(definition: ApiObject): Cause[] {
  try {
    const { versions } = definition.spec as DefinitionSpec;
    customResources(definition);
    for (const { schema } of versions) for (const rule of rulesOf(schema?.openAPIV3Schema)) ruleOf(rule);
    return [];
  } catch (error) {
    const message = `Invalid value: ${error instanceof Error ? error.message : String(error)}`;
    return [{ reason: 'FieldValueInvalid', message, field: 'spec.versions' }];
  }
}

/** The status of a definition that the server has taken over; it is served from then on. Pure. */
export function establishedStatus(definition: ApiObject, now: Date): object {
  const { names, versions } = definition.spec as DefinitionSpec;
  const lastTransitionTime = timestamp(now);
  return {
    conditions: [
      {
        lastTransitionTime,
        message: 'no conflicts found',
        reason: 'NoConflicts',
        status: 'True',
        type: 'NamesAccepted',
      },
      {
        lastTransitionTime,
        message: 'the initial names have been accepted',
        reason: 'InitialNamesAccepted',
        status: 'True',
        type: 'Established',
      },
    ],
    acceptedNames: names,
    storedVersions: versions.filter(({ storage }) => storage).map(({ name }) => name),
  };
}

/** A definition that is being deleted: its objects go first. Pure. */
export function terminatingDefinition(definition: ApiObject, metadata: ApiObject['metadata'], now: Date): ApiObject {
  const { conditions = [], ...status } = definition.status as { conditions?: object[] };
  const terminating = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
    lastTransitionTime: timestamp(now),
  };
  const finalizers = [...new Set([...(metadata.finalizers ?? []), customResourceCleanup])];
  return {
    ...definition,
    metadata: { ...metadata, finalizers },
    status: { ...status, conditions: [...conditions, terminating] },
  };
}

function rulesOf(schema: Schema | undefined): Rule[] {
  if (!schema) return [];
  const { properties = {}, items } = schema;
  return [
    ...(schema['x-kubernetes-validations'] ?? []),
    ...[...Object.values(properties), items, elementOf(schema)].flatMap((child) => rulesOf(child)),
  ];
}
