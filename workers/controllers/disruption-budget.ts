import { disruptionBudget, type BudgetOwner } from '../../infra/manifests/disruption-budget.ts';
import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

type Kube = Pick<KubeClient, 'get' | 'create' | 'replace' | 'delete' | 'cache'>;

/**
 * Gives a workload with several replicas a disruption budget, and removes that of another one: with one replica, it would
 * protect nothing, as a pod may always be evicted.
 * @throws whatever ensureChild throws
 */
export async function ensureDisruptionBudget(
  kube: Kube,
  resource: Stored<KubeObject>,
  owner: BudgetOwner,
  replicas: number,
): Promise<void> {
  if (replicas > 1) await ensureChild(kube, resource, disruptionBudget(owner), { cached: true });
  else await removeDisruptionBudget(kube, resource, owner);
}

/**
 * Deletes the budget of a workload; one without a budget costs no request.
 * @returns whether it is deleted
 */
export async function removeDisruptionBudget(
  kube: Kube,
  resource: Stored<KubeObject>,
  { name, namespace }: Pick<BudgetOwner, 'name' | 'namespace'>,
): Promise<boolean> {
  const { apiVersion, kind } = kinds.PodDisruptionBudget;
  return deleteChild(kube, resource, { apiVersion, kind, name, namespace }, { cached: true });
}
