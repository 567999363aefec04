import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { bindingStatus, boundServices, type BindingStatus } from '../../runtime/contracts/resources/binding.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { readBinding } from '../../runtime/workloads/bindings.ts';
import { BlockedHostError, serviceAddress, type LookupAll } from '../../runtime/services/address.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { SourceError, type SourceRequest } from './source.ts';

/** The status of a function's binding to a service; undefined without one. Credentials work once it is `ready`. Pure. */
export function findBindingStatus(
  resource: FunctionResource,
  name: string,
): Pick<BindingStatus, 'phase' | 'message'> | undefined {
  const binding = boundServices(resource.spec).find(({ service }) => service === name);
  return binding && (bindingStatus(resource, binding) ?? { phase: 'pending' });
}

/** Reads the credentials of the function's own user, and looks up the address of the service. @throws SourceError */
export async function readSourceCredentials(
  kube: Pick<KubeClient, 'get'>,
  resource: Stored<FunctionResource>,
  name: string,
  lookup?: LookupAll,
): Promise<Pick<SourceRequest, 'credentials' | 'address'>> {
  const { phase, message } = findBindingStatus(resource, name) ?? {};
  if (phase === 'failed') throw new SourceError(`The binding to "${name}" failed: ${message ?? 'see its status'}`);
  const credentials = await readBinding(kube, resource, name);
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, resource.metadata.namespace);
  if (!credentials || !service) {
    throw new SourceError(
      `The function has no credentials for the service "${name}". Check its binding with: svc function bindings`,
    );
  }
  const { host } = credentials;
  try {
    return { credentials, address: await serviceAddress(kube, service, { host, ...(lookup && { lookup }) }) };
  } catch (error) {
    throw error instanceof BlockedHostError ? new SourceError(error.message) : error;
  }
}
