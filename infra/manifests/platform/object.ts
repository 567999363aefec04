import type { KubeObject } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { appLabel, managedLabels, systemNamespace } from '../../../runtime/domain/labels.ts';

/** An object as it is sent to the API server, with the fields that its kind has beside `spec`. */
export type Manifest = KubeObject & Readonly<Record<string, unknown>>;

/** An object of the platform itself: labelled as managed, in `svc-system` when its kind is namespaced. Pure. */
export function systemObject(
  kind: ResourceKind,
  name: string,
  fields: Record<string, unknown>,
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

/** The label that selects the pods of one process of the platform. */
export function componentLabels(name: string): Record<string, string> {
  return { [appLabel]: name };
}
