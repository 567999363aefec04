import type { Json, KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, managedLabels, systemNamespace } from '../../../runtime/domain/labels.ts';

/** A whole object, with the fields that its kind has besides `spec`. */
export type Manifest = KubeObject & Readonly<Record<string, unknown>>;

/**
 * An object of the platform itself: labelled as managed, and in `svc-system` if its kind is namespaced. Pure.
 * @typeParam T the package's type of the kind, which checks the fields
 */
export function systemObject<T extends object = never>(
  kind: ResourceKind,
  name: string,
  fields: Omit<Json<NoInfer<T>>, 'apiVersion' | 'kind' | 'metadata'>,
  labels: Record<string, string> = {},
): Manifest {
  return {
    apiVersion: kind.apiVersion,
    kind: kind.kind,
    metadata: {
      name,
      ...(kind.namespaced && { namespace: systemNamespace }),
      labels: { ...managedLabels(), ...labels },
    },
    ...fields,
  };
}

/** The label that selects the pods of a process of the platform. */
export function componentLabels(name: string): Record<string, string> {
  return { [appLabel]: name };
}
