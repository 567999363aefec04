import type { Stored } from '../contracts/kubernetes.ts';
import { bindingStatus, boundServices, type FunctionResource } from '../contracts/resources/function.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Variable } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { bindingNames, bindingVariables, readBinding } from './function-bindings.ts';
import { resolvedEnvironment, type ResolvedEnvironment } from './workload-environment.ts';
import { readSecrets } from './workload-secrets.ts';

type Reader = Pick<KubeClient, 'get'>;

/** What a function's pods are to find in their environment. */
export interface FunctionEnvironment {
  /** Undefined when there is nothing in it, and while something is missing. */
  environment: ResolvedEnvironment | undefined;
  /** Bound services whose variables are not known yet. */
  missing: string[];
}

/**
 * The environment that a function's variables, secrets and bindings make. A variable or secret of its own wins over what
 * a binding brings under the same name. @throws Problem `invalid_value` for what does not resolve
 */
export async function functionEnvironment(kube: Reader, owner: Stored<FunctionResource>): Promise<FunctionEnvironment> {
  const { env = [], secretsRevision } = owner.spec;
  const { variables: bound, missing } = await boundVariables(kube, owner);
  if (missing.length > 0) return { environment: undefined, missing };
  // Most functions have none, and each look would be a request.
  const { secrets, salt } = secretsRevision === undefined ? { secrets: [], salt: '' } : await readSecrets(kube, owner);
  const given = withBound(bound, [...env, ...secrets]);
  return { environment: resolvedEnvironment(owner, env, { secrets: [...secrets, ...given], salt }), missing };
}

/**
 * What a function's bindings bring beside its own variables and secrets, for checks: of a binding that is still being made
 * the names are known, and no value.
 */
export async function bindingsFor(
  kube: Reader,
  owner: Stored<FunctionResource>,
  own: readonly Variable[],
): Promise<Variable[]> {
  const { variables, missing } = await boundVariables(kube, owner);
  const coming = await Promise.all(missing.map((service) => comingVariables(kube, owner, service)));
  return withBound([...variables, ...coming.flat()], own);
}

function withBound(bound: readonly Variable[], own: readonly Variable[]): Variable[] {
  const names = new Set(own.map(({ name }) => name));
  return bound.filter(({ name }) => !names.has(name));
}

async function boundVariables(
  kube: Reader,
  owner: Stored<FunctionResource>,
): Promise<{ variables: Variable[]; missing: string[] }> {
  const variables: Variable[] = [];
  const missing: string[] = [];
  for (const binding of boundServices(owner.spec)) {
    const ready = bindingStatus(owner, binding)?.phase === 'ready';
    const credentials = ready ? await readBinding(kube, owner, binding.service) : undefined;
    if (credentials) variables.push(...bindingVariables(binding, credentials));
    else missing.push(binding.service);
  }
  return { variables, missing };
}

async function comingVariables(kube: Reader, owner: Stored<FunctionResource>, name: string): Promise<Variable[]> {
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, owner.metadata.namespace);
  const binding = boundServices(owner.spec).find((each) => each.service === name);
  if (!service || !binding) return [];
  return bindingNames(binding, service.spec.type).map((variable) => ({ name: variable, value: '' }));
}
