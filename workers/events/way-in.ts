import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { kinds } from '../../runtime/contracts/resources/kinds.ts';
import type { ServiceResource } from '../../runtime/contracts/resources/service.ts';
import { readBinding } from '../../runtime/host/function-bindings.ts';
import { ClosedHostError, serviceAddress, type LookupAll } from '../../runtime/host/service-address.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { SourceError, type SourceRequest } from './source.ts';

/** The way into a service, as the function's own user, and where it is now. @throws SourceError while there is none */
export async function wayInto(
  kube: Pick<KubeClient, 'get'>,
  resource: Stored<FunctionResource>,
  name: string,
  lookup?: LookupAll,
): Promise<Pick<SourceRequest, 'credentials' | 'address'>> {
  const credentials = await readBinding(kube, resource, name);
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, resource.metadata.namespace);
  if (!credentials || !service) {
    throw new SourceError(`The function has no way into the service "${name}" yet; see \`svc function bindings\`.`);
  }
  const { host } = credentials;
  try {
    return { credentials, address: await serviceAddress(kube, service, { host, ...(lookup && { lookup }) }) };
  } catch (error) {
    throw error instanceof ClosedHostError ? new SourceError(error.message) : error;
  }
}
