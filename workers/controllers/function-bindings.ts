import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  eventsBucket,
  type FunctionResource,
  type FunctionStatus,
} from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { bindingSecretName } from '../../runtime/workloads/function-bindings.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { DesiredBinding } from '../../runtime/records/function-bindings.ts';
import type { WorkloadIdentity } from './workload.ts';
import { deleteSecret } from './secret-deletion.ts';

export interface BindingRecords {
  /** Writes the bindings, and inserts work for those that changed. Idempotent. */
  projectBindings(workloadId: Id, bindings: readonly DesiredBinding[]): Promise<void>;
}

/**
 * Hands a function's bindings to the queue that provisions them, which reports in the function's status, and deletes
 * the credentials of removed bindings.
 */
export async function handOverBindings(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  records: BindingRecords,
  resource: Stored<FunctionResource>,
  { id, name, namespace }: WorkloadIdentity,
): Promise<void> {
  const { spec, status } = resource;
  // A removed binding without a status is handled by its work row.
  if (!spec.bindings && !status?.bindings) return;
  const bindings = spec.bindings?.map((binding) => {
    const bucket = eventsBucket(spec, binding.service);
    return { ...binding, ...(bucket !== undefined && { bucket }) };
  });
  await records.projectBindings(id, bindings ?? []);
  for (const { service } of status?.bindings ?? []) {
    if (isBound(resource, service)) continue;
    await deleteSecret(kube, resource, bindingSecretName(name, service), namespace);
  }
}

/** The statuses of the function's current bindings. Pure. */
export function currentBindingStatuses(resource: FunctionResource): Pick<FunctionStatus, 'bindings'> {
  const bindings = resource.status?.bindings?.filter(({ service }) => isBound(resource, service)) ?? [];
  return bindings.length === 0 ? {} : { bindings };
}

function isBound({ spec }: FunctionResource, service: string): boolean {
  return spec.bindings?.some((binding) => binding.service === service) ?? false;
}
