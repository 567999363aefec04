import { boundServicesPolicy, boundServicesPolicyName } from '../../infra/manifests/function-network.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { boundServices } from '../../runtime/contracts/resources/binding.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import { deleteChild, ensureChild } from '../../runtime/kube/children.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { refIn } from './function-child.ts';
import type { WorkloadIdentity } from './workload.ts';

/** Creates the NetworkPolicy for the services that a function is bound to, or deletes it when there are none. */
export async function ensureNetwork(
  kube: KubeClient,
  resource: Stored<FunctionResource>,
  identity: WorkloadIdentity,
): Promise<void> {
  const services = boundServices(resource.spec).map(({ service }) => service);
  const { name, namespace } = identity;
  if (services.length > 0) {
    await ensureChild(kube, resource, boundServicesPolicy(identity, services), { cached: true });
    return;
  }
  const policy = refIn(namespace, kinds.NetworkPolicy, boundServicesPolicyName(name));
  await deleteChild(kube, resource, policy, { cached: true });
}
