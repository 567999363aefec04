import type { z } from 'zod';
import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { apiGroup, managedLabels } from '../../runtime/domain/labels.ts';
import { structuralSchema, type StructuralSchema, type Validation } from './structural-schema.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/ */
export interface CustomResourceDefinition extends KubeObject {
  apiVersion: 'apiextensions.k8s.io/v1';
  kind: 'CustomResourceDefinition';
  spec: {
    group: string;
    scope: 'Cluster' | 'Namespaced';
    names: { kind: string; listKind: string; plural: string; singular: string; shortNames?: string[] };
    versions: {
      name: string;
      served: boolean;
      storage: boolean;
      schema: { openAPIV3Schema: StructuralSchema };
      subresources?: { status: Record<string, never> };
      additionalPrinterColumns: PrinterColumn[];
    }[];
  };
}

/** A column of `kubectl get`; one with a priority above 0 shows with `-o wide` only. */
interface PrinterColumn {
  name: string;
  type: 'string' | 'integer' | 'boolean' | 'date';
  jsonPath: string;
  priority?: number;
  description?: string;
}

/** The definition of a kind. */
export interface ResourceDefinition {
  kind: ResourceKind;
  description: string;
  shortNames?: string[];
  spec: z.ZodType;
  /** The status, if the kind has one. */
  status?: z.ZodType;
  /** Rules for the whole object. Of its metadata, a rule can only use `name`. */
  validations?: Validation[];
  /** Adds what zod cannot express to the schema of the whole object: transition rules, list keys. */
  refine?: (schema: StructuralSchema) => void;
  /** The columns between name and age. */
  columns: PrinterColumn[];
}

const age: PrinterColumn = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' };

/** The CRD of a kind, with one version. Pure. */
export function customResource(definition: ResourceDefinition): CustomResourceDefinition {
  const { kind, plural, namespaced } = definition.kind;
  const schema: StructuralSchema = {
    type: 'object',
    description: definition.description,
    required: ['spec'],
    properties: {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object' },
      spec: structuralSchema(definition.spec),
      ...(definition.status && { status: withConditionsByType(structuralSchema(definition.status)) }),
    },
    ...(definition.validations && { 'x-kubernetes-validations': definition.validations }),
  };
  definition.refine?.(schema);
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${apiGroup}`, labels: managedLabels() },
    spec: {
      group: apiGroup,
      scope: namespaced ? 'Namespaced' : 'Cluster',
      names: {
        kind,
        listKind: `${kind}List`,
        plural,
        singular: kind.toLowerCase(),
        ...(definition.shortNames && { shortNames: definition.shortNames }),
      },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          ...(definition.status && { subresources: { status: {} } }),
          additionalPrinterColumns: [...definition.columns, age],
        },
      ],
    },
  };
}

function withConditionsByType(status: StructuralSchema): StructuralSchema {
  const conditions = status.properties?.['conditions'];
  if (conditions) {
    conditions['x-kubernetes-list-type'] = 'map';
    conditions['x-kubernetes-list-map-keys'] = ['type'];
  }
  return status;
}
