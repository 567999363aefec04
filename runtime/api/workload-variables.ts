import type { z } from 'zod';
import type { variablesUpdate } from '../contracts/api/variables.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import { Problem } from '../domain/problem.ts';
import { resolveVariables, type Variable } from '../domain/variables.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import { bindingsFor } from '../workloads/bound-environment.ts';
import type { Configurable } from '../workloads/objects.ts';
import { checkSecrets, readSecrets } from '../workloads/secrets.ts';
import { retryOnConflict } from './retry-on-conflict.ts';

/**
 * The variables of a new workload.
 * @param others what its secrets and bindings set @throws Problem `invalid_value`
 */
export function newVariables(
  kind: Configurable['kind'],
  env: Readonly<Record<string, string>>,
  others: readonly Variable[] = [],
): Variable[] {
  const variables = variableList(env);
  const own = new Set(variables.map(({ name }) => name));
  resolveVariables(
    variables,
    others.filter(({ name }) => !own.has(name)),
    kind,
  );
  return variables;
}

/**
 * The secrets of a new workload.
 * @throws Problem `invalid_value`, and `already_exists` for a name that is also a variable's, which would hide it
 */
export function newSecrets(
  kind: Configurable['kind'],
  secrets: Readonly<Record<string, string>>,
  env: Readonly<Record<string, string>> = {},
): Variable[] {
  const values = Object.entries(secrets).map(([name, value]) => ({ name, value }));
  checkSecrets(kind, values);
  for (const { name } of values) checkVariableName(name, 'secrets');
  const both = values.find(({ name }) => Object.hasOwn(env, name));
  if (!both) return values;
  throw new Problem('already_exists', `"${both.name}" is both a variable and a secret. Choose one of them.`, {
    details: { name: both.name },
  });
}

/**
 * Variables that replace a workload's own, checked together with its secrets and bindings.
 * @throws Problem `invalid_value`, and `already_exists` for a new variable with the name of a secret, which would hide it
 */
export async function replacedVariables(
  kube: Pick<KubeClient, 'get'>,
  workload: Stored<Configurable>,
  env: Readonly<Record<string, string>>,
): Promise<Variable[]> {
  const current = new Set(workload.spec.env?.map(({ name }) => name));
  const variables = variableList(env, current);
  const { secrets } = await readSecrets(kube, workload);
  const hidden = variables.find(({ name }) => !current.has(name) && secrets.some((secret) => secret.name === name));
  if (hidden) {
    throw new Problem(
      'already_exists',
      `The ${kindName(workload)} "${workload.metadata.name}" has a secret "${hidden.name}", which would hide the variable. Delete the secret first, or choose another name.`,
      { details: { name: hidden.name } },
    );
  }
  const bound = await bindingsFor(kube, workload, [...variables, ...secrets]);
  resolveVariables(variables, [...secrets, ...bound], workload.kind);
  return variables;
}

/**
 * Checks a user's name for a variable or secret against the names that the platform sets; `domain/variables.ts` checks its
 * form. @throws Problem `invalid_value`
 */
export function checkVariableName(name: string, field: string): void {
  if (!name.startsWith('SVC_')) return;
  const message = `"${name}" is reserved: variables that start with SVC_ are set by the platform. Choose another name.`;
  throw new Problem('invalid_value', message, { details: { field } });
}

/** A workload's variables with a change applied. @throws Problem `not_found` for a variable to delete that does not exist */
export function mergedVariables(
  workload: Stored<Configurable>,
  change: z.output<typeof variablesUpdate>,
): Record<string, string> {
  const kind = kindName(workload);
  const { name: owner } = workload.metadata;
  const merged = new Map(workload.spec.env?.map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries(change)) {
    if (value !== null) merged.set(name, value);
    else if (!merged.delete(name)) {
      throw new Problem(
        'not_found',
        `The ${kind} "${owner}" has no variable "${name}". List its variables with \`svc ${kind} env list ${owner}\`.`,
      );
    }
  }
  return Object.fromEntries(merged);
}

/**
 * Changes a workload's variables based on their current values; concurrent changes are both applied.
 * @param find reads the workload again for each attempt @throws whatever `change` throws
 */
export function changeVariables<Workload extends Configurable>(
  kube: Pick<KubeClient, 'mergePatch'>,
  find: () => Promise<Stored<Workload>>,
  change: (workload: Stored<Workload>) => Promise<Variable[]>,
): Promise<Stored<Workload>> {
  return retryOnConflict(find, async (workload) => {
    const env = await change(workload);
    const { apiVersion, kind, metadata } = workload;
    const { name, namespace = '', uid, resourceVersion } = metadata;
    return kube.mergePatch<Workload>(
      { apiVersion, kind, namespace, name },
      { metadata: { uid, resourceVersion }, spec: { env: env.length === 0 ? null : env } },
    );
  });
}

function kindName({ kind }: Configurable): 'app' | 'function' | 'job' {
  return ({ App: 'app', Function: 'function', Job: 'job' } as const)[kind];
}

/** @param current names that the workload already has, which it may keep */
function variableList(env: Readonly<Record<string, string>>, current: ReadonlySet<string> = new Set()): Variable[] {
  for (const name of Object.keys(env)) if (!current.has(name)) checkVariableName(name, 'env');
  return Object.entries(env)
    .map(([name, value]) => ({ name, value }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
