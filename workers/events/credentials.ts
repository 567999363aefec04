import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionResource } from '../../runtime/contracts/resources/function.ts';
import { SourceError, type SourceCredentials } from './source.ts';

/** The way into a service, as the function's own user. @throws SourceError while there is none */
export function credentialsOf(resource: Stored<FunctionResource>, service: string): Promise<SourceCredentials> {
  const { name } = resource.metadata;
  return Promise.reject(new SourceError(`The function "${name}" is not bound to the service "${service}".`));
}
