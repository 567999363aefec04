import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { bindingStatus, boundServices, type BindingStatus } from '../../runtime/contracts/resources/binding.ts';
import { eventsBucket, type FunctionResource } from '../../runtime/contracts/resources/function.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { bindingSecretName } from '../../runtime/workloads/bindings.ts';
import type { Configurable } from '../../runtime/workloads/objects.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import type { DesiredBinding } from '../../runtime/records/bindings.ts';
import type { WorkloadIdentity } from './workload.ts';
import { deleteSecret } from './secret-deletion.ts';

export interface BindingRecords {
  /** Writes the bindings, and inserts work for those that changed. Idempotent. */
  projectBindings(workloadId: Id, bindings: readonly DesiredBinding[]): Promise<void>;
}

/**
 * Hands a workload's bindings to the queue that provisions them, which reports in the workload's status, and deletes
 * the credentials of removed bindings.
 */
export async function handOverBindings(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  records: BindingRecords,
  resource: Stored<Configurable>,
  { id, namespace }: WorkloadIdentity,
): Promise<void> {
  const { spec, status } = resource;
  // A removed binding without a status is handled by its work row.
  if (!spec.bindings && !status?.bindings) return;
  const bindings = spec.bindings?.map((binding) => {
    const bucket = 'trigger' in spec ? eventsBucket(spec, binding.service) : undefined;
    return { ...binding, ...(bucket !== undefined && { bucket }) };
  });
  await records.projectBindings(id, bindings ?? []);
  for (const { service } of status?.bindings ?? []) {
    if (isBound(resource, service)) continue;
    await deleteSecret(kube, resource, bindingSecretName(resource, service), namespace);
  }
}

/** The statuses of the workload's current bindings. Pure. */
export function currentBindingStatuses(resource: Configurable): { bindings?: BindingStatus[] } {
  const bindings = resource.status?.bindings?.filter(({ service }) => isBound(resource, service)) ?? [];
  return bindings.length === 0 ? {} : { bindings };
}

/**
 * The statuses of a function's current bindings after its environment was written, which has the variables of all bindings
 * or, while one has no credentials, of none. Pure.
 */
export function appliedBindingStatuses(resource: FunctionResource): { bindings?: BindingStatus[] } {
  const { bindings } = currentBindingStatuses(resource);
  if (!bindings) return {};
  const areReady = boundServices(resource.spec).every((one) => bindingStatus(resource, one)?.phase === 'ready');
  return { bindings: areReady ? bindings.map((status) => ({ ...status, applied: true })) : bindings };
}

function isBound({ spec }: Configurable, service: string): boolean {
  return spec.bindings?.some((binding) => binding.service === service) ?? false;
}
