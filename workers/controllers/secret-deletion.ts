import type { KubeObject, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { deleteChild } from '../../runtime/kube/children.ts';
import { isKubeError, type KubeClient } from '../../runtime/kube/kube-client.ts';

/**
 * Deletes a Secret of a workload. A namespace that is being deleted takes its Secrets along, and may lose the
 * RoleBinding that allows their deletion before its workloads are gone.
 * @returns whether the Secret is gone, or goes with its namespace
 */
export async function deleteSecret(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  owner: Stored<KubeObject>,
  name: string,
  namespace: string,
): Promise<boolean> {
  const { apiVersion, kind } = kinds.Secret;
  try {
    return await deleteChild(kube, owner, { apiVersion, kind, name, namespace });
  } catch (error) {
    if (!isKubeError(error, 403)) throw error;
    const live = await kube.get(kinds.Namespace, namespace);
    if (live && live.metadata.deletionTimestamp === undefined) throw error;
    return true;
  }
}
