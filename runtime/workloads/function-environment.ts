import type { Stored } from '../contracts/kubernetes.ts';
import { bindingStatus, boundServices, type FunctionResource } from '../contracts/resources/function.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Variable } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { bindingNames, bindingVariables, readBinding } from './function-bindings.ts';
import { resolvedEnvironment, type ResolvedEnvironment } from './environment.ts';
import { readSecrets } from './secrets.ts';

type Reader = Pick<KubeClient, 'get'>;

/** The environment variables of a function's pods. */
export interface FunctionEnvironment {
  /** Undefined without variables, and while some are missing. */
  environment: ResolvedEnvironment | undefined;
  /** Bound services without credentials yet. */
  missing: string[];
}

/**
 * Resolves a function's variables, secrets and bindings. Its own variables and secrets override those of a binding with the
 * same name. @throws Problem `invalid_value` for a variable that does not resolve
 */
export async function functionEnvironment(kube: Reader, owner: Stored<FunctionResource>): Promise<FunctionEnvironment> {
  const { env = [], secretsRevision } = owner.spec;
  const { variables: bound, missing } = await boundVariables(kube, owner);
  if (missing.length > 0) return { environment: undefined, missing };
  // Spares a request for functions without secrets.
  const { secrets, salt } = secretsRevision === undefined ? { secrets: [], salt: '' } : await readSecrets(kube, owner);
  const inherited = withoutOverridden(bound, [...env, ...secrets]);
  return { environment: resolvedEnvironment(owner, env, { secrets: [...secrets, ...inherited], salt }), missing };
}

/**
 * The variables of a function's bindings that its own ones do not override, for checks. Variables of a binding without
 * credentials yet have empty values.
 */
export async function bindingsFor(
  kube: Reader,
  owner: Stored<FunctionResource>,
  own: readonly Variable[],
): Promise<Variable[]> {
  const { variables, missing } = await boundVariables(kube, owner);
  const pending = await Promise.all(missing.map((service) => pendingVariables(kube, owner, service)));
  return withoutOverridden([...variables, ...pending.flat()], own);
}

function withoutOverridden(bound: readonly Variable[], own: readonly Variable[]): Variable[] {
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

async function pendingVariables(kube: Reader, owner: Stored<FunctionResource>, name: string): Promise<Variable[]> {
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, owner.metadata.namespace);
  const binding = boundServices(owner.spec).find((entry) => entry.service === name);
  if (!service || !binding) return [];
  return bindingNames(binding, service.spec.type).map((variable) => ({ name: variable, value: '' }));
}
