import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import {
  bindingStatus,
  boundServices,
  type FunctionBindingStatus,
  type FunctionResource,
} from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { readBinding } from '../../runtime/host/function-bindings.ts';
import { ClosedHostError, serviceAddress, type LookupAll } from '../../runtime/host/service-address.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { SourceError, type SourceRequest } from './source.ts';

/** How far a function's binding to a service is; undefined without one. What leads into the service may not open it before it is ready. Pure. */
export function bindingTo(
  resource: FunctionResource,
  name: string,
): Pick<FunctionBindingStatus, 'phase' | 'message'> | undefined {
  const binding = boundServices(resource.spec).find(({ service }) => service === name);
  return binding && (bindingStatus(resource, binding) ?? { phase: 'pending' });
}

/** The way into a service, as the function's own user, and where it is now. @throws SourceError while there is none */
export async function wayInto(
  kube: Pick<KubeClient, 'get'>,
  resource: Stored<FunctionResource>,
  name: string,
  lookup?: LookupAll,
): Promise<Pick<SourceRequest, 'credentials' | 'address'>> {
  const { phase, message } = bindingTo(resource, name) ?? {};
  if (phase === 'failed') throw new SourceError(`The binding to "${name}" failed: ${message ?? 'see its status'}`);
  const credentials = await readBinding(kube, resource, name);
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, resource.metadata.namespace);
  if (!credentials || !service) {
    throw new SourceError(`The function has no way into the service "${name}"; see \`svc function bindings\`.`);
  }
  const { host } = credentials;
  try {
    return { credentials, address: await serviceAddress(kube, service, { host, ...(lookup && { lookup }) }) };
  } catch (error) {
    throw error instanceof ClosedHostError ? new SourceError(error.message) : error;
  }
}
