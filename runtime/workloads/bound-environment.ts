import type { Stored } from '../contracts/kubernetes.ts';
import { bindingStatus, boundServices } from '../contracts/resources/binding.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Variable } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { bindingNames, bindingVariables, readBinding } from './bindings.ts';
import { resolvedEnvironment, type ResolvedEnvironment } from './environment.ts';
import type { Configurable } from './objects.ts';
import { expectsSecrets, readSecrets } from './secrets.ts';

type Reader = Pick<KubeClient, 'get'>;

/** The environment variables of a workload's pods. */
export interface BoundEnvironment {
  /** Undefined without variables, and while some are missing. */
  environment: ResolvedEnvironment | undefined;
  /** Bound services without credentials yet. */
  missing: string[];
}

/**
 * Resolves a workload's variables, secrets and bindings. Its own variables and secrets override those of a binding with
 * the same name. @throws Problem `invalid_value` for a variable that does not resolve
 */
export async function boundEnvironment(kube: Reader, owner: Stored<Configurable>): Promise<BoundEnvironment> {
  const { env = [] } = owner.spec;
  const { variables: bound, missing } = await boundVariables(kube, owner);
  if (missing.length > 0) return { environment: undefined, missing };
  const { secrets, salt } = mayHaveSecrets(owner) ? await readSecrets(kube, owner) : { secrets: [], salt: '' };
  const inherited = withoutOverridden(bound, [...env, ...secrets]);
  return { environment: resolvedEnvironment(owner, env, { secrets: [...secrets, ...inherited], salt }), missing };
}

/** Spares a request for functions and jobs without secrets. */
function mayHaveSecrets(owner: Configurable): boolean {
  return owner.kind === 'App' || owner.spec.secretsRevision !== undefined || expectsSecrets(owner);
}

/**
 * The variables of a workload's bindings that its own ones do not override, for checks. Variables of a binding without
 * credentials yet have empty values.
 */
export async function bindingsFor(
  kube: Reader,
  owner: Stored<Configurable>,
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

/** The variables that the bindings of a workload set now, and the salt of its environments. */
export async function currentCredentials(
  kube: Reader,
  owner: Stored<Configurable>,
): Promise<{ values: Variable[]; salt: string }> {
  if (boundServices(owner.spec).length === 0) return { values: [], salt: '' };
  const { variables } = await boundVariables(kube, owner);
  const { secrets, salt } = await readSecrets(kube, owner);
  return { values: withoutOverridden(variables, [...(owner.spec.env ?? []), ...secrets]), salt };
}

/** The variables of the bindings that are ready, and the bound services without credentials yet. */
async function boundVariables(
  kube: Reader,
  owner: Stored<Configurable>,
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

async function pendingVariables(kube: Reader, owner: Stored<Configurable>, name: string): Promise<Variable[]> {
  const service = await kube.get<ServiceResource>(kinds.ServiceResource, name, owner.metadata.namespace);
  const binding = boundServices(owner.spec).find((entry) => entry.service === name);
  if (!service || !binding) return [];
  return bindingNames(binding, service.spec.type).map((variable) => ({ name: variable, value: '' }));
}
