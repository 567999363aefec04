import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import { idLabel } from '../../runtime/domain/labels.ts';
import { refOf } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { WorkloadIdentity } from './workload.ts';

/** A reference to an object of a function. */
export function refIn(namespace: string, { apiVersion, kind }: Pick<KubeObject, 'apiVersion' | 'kind'>, name: string) {
  return refOf({ apiVersion, kind, metadata: { name, namespace } });
}

/** Whether the cache contains no such object of the function. A newer object causes another reconcile. */
export function noneSeen(
  kube: Pick<KubeClient, 'cache'>,
  kind: ResourceKind,
  { id, namespace }: Pick<WorkloadIdentity, 'id' | 'namespace'>,
  labels: Readonly<Record<string, string>>,
): boolean {
  return kube.cache?.list(kind, { ...labels, [idLabel]: id }, namespace)?.length === 0;
}
