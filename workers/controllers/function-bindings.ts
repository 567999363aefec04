import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  eventsBucket,
  type FunctionResource,
  type FunctionStatus,
} from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { bindingSecretName } from '../../runtime/host/function-bindings.ts';
import { deleteChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { BindingWish } from '../../runtime/records/function-bindings.ts';
import { refIn } from './function-child.ts';
import type { WorkloadIdentity } from './workload.ts';

export interface BindingRecords {
  /** Makes work of what changed; repeating it is free. */
  projectBindings(workloadId: Id, bindings: readonly BindingWish[]): Promise<void>;
}

/**
 * Hands a function's bindings to the queue that brings them about, which reports in the function's status, and removes
 * the credentials of those that it has no more.
 */
export async function handOverBindings(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  records: BindingRecords,
  resource: Stored<FunctionResource>,
  { id, name, namespace }: WorkloadIdentity,
): Promise<void> {
  const { spec, status } = resource;
  // What was never reported is looked after by the work that it has still.
  if (!spec.bindings && !status?.bindings) return;
  const wishes = spec.bindings?.map((binding) => {
    const bucket = eventsBucket(spec, binding.service);
    return { ...binding, ...(bucket !== undefined && { bucket }) };
  });
  await records.projectBindings(id, wishes ?? []);
  for (const { service } of status?.bindings ?? []) {
    if (isBound(resource, service)) continue;
    await deleteChild(kube, resource, refIn(namespace, kinds.Secret, bindingSecretName(name, service)));
  }
}

/** What the status keeps of the bindings: of those that there are. Pure. */
export function keptBindings(resource: FunctionResource): Pick<FunctionStatus, 'bindings'> {
  const bindings = resource.status?.bindings?.filter(({ service }) => isBound(resource, service)) ?? [];
  return bindings.length === 0 ? {} : { bindings };
}

function isBound({ spec }: FunctionResource, service: string): boolean {
  return spec.bindings?.some((binding) => binding.service === service) ?? false;
}
