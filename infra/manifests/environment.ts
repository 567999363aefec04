import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  managedLabels,
  projectLabel,
} from '../../runtime/domain/labels.ts';

/**
 * The namespace of one environment. Pods that could reach the node are refused (`baseline`); what is short of
 * `restricted` is told. Pure.
 */
export function environmentNamespace(environment: {
  namespace: string;
  project: string;
  projectId: Id;
  name: string;
  id: Id;
}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: {
      name: environment.namespace,
      labels: {
        ...managedLabels(),
        [projectLabel]: environment.project,
        [environmentLabel]: environment.name,
        [environmentIdLabel]: environment.id,
        [idLabel]: environment.projectId,
        'pod-security.kubernetes.io/enforce': 'baseline',
        'pod-security.kubernetes.io/warn': 'restricted',
      },
    },
  };
}
