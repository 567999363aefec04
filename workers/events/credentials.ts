import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { readBinding } from '../../runtime/host/function-bindings.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { SourceError, type SourceCredentials } from './source.ts';

/** The way into a service, as the function's own user. @throws SourceError while there is none */
export async function credentialsOf(
  kube: Pick<KubeClient, 'get'>,
  resource: Stored<FunctionResource>,
  service: string,
): Promise<SourceCredentials> {
  const found = await readBinding(kube, resource, service);
  if (found) return found;
  throw new SourceError(`The function has no way into the service "${service}" yet; see \`svc function bindings\`.`);
}
