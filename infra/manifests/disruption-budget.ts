import type { V1PodDisruptionBudget } from '@kubernetes/client-node';
import type { BuiltIn } from '../../runtime/contracts/kubernetes.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { servingSelector, workloadLabels } from '../../runtime/domain/labels.ts';

/** A workload whose serving pods have a disruption budget. */
export interface BudgetOwner {
  kind: 'App' | 'Function';
  id: Id;
  name: string;
  namespace: string;
}

/** Lets a drain evict one serving pod at a time; the next one once its successor is ready. Pure. */
export function disruptionBudget({ kind, id, name, namespace }: BudgetOwner): BuiltIn<V1PodDisruptionBudget, 'spec'> {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace, labels: workloadLabels({ kind, name, id }) },
    spec: {
      maxUnavailable: 1,
      selector: { matchLabels: servingSelector({ kind, name }) },
      // By default, pods that crash again and again would stop a drain until someone repairs them.
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}
