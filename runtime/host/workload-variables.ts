import type { z } from 'zod';
import type { variablesUpdate } from '../contracts/api/variables.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import { Problem } from '../domain/problem.ts';
import { resolveVariables, type Variable } from '../domain/variables.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { bindingsFor } from './function-environment.ts';
import { readSecrets } from './workload-secrets.ts';

/** A workload whose variables and secrets have commands of their own. */
export type Configurable = App | FunctionResource;

/** Writers of one workload that come between read and write. */
const maxRounds = 10;

/** The variables of a new workload, which has no secrets yet. @throws Problem `invalid_value` */
export function newVariables(kind: Configurable['kind'], env: Readonly<Record<string, string>>): Variable[] {
  const variables = listOf(kind, env);
  resolveVariables(variables);
  return variables;
}

/**
 * Variables that are to take the place of a workload's own, checked together with its secrets.
 * @throws Problem `invalid_value`, and `already_exists` for a new one with the name of a secret, which would hide it
 */
export async function replacedVariables(
  kube: Pick<KubeClient, 'get'>,
  workload: Stored<Configurable>,
  env: Readonly<Record<string, string>>,
): Promise<Variable[]> {
  const variables = listOf(workload.kind, env);
  const { secrets } = await readSecrets(kube, workload);
  const before = new Set(workload.spec.env?.map(({ name }) => name));
  const hidden = variables.find(({ name }) => !before.has(name) && secrets.some((secret) => secret.name === name));
  if (hidden) {
    throw new Problem(
      'already_exists',
      `The ${whatOf(workload)} "${workload.metadata.name}" has a secret "${hidden.name}", which would hide the variable; delete the secret first, or choose another name.`,
      { details: { name: hidden.name } },
    );
  }
  const bound = workload.kind === 'App' ? [] : await bindingsFor(kube, workload, [...variables, ...secrets]);
  resolveVariables(variables, [...secrets, ...bound]);
  return variables;
}

/**
 * Checks a name that somebody gives a variable or secret of a workload of this kind; `domain/variables.ts` checks the
 * rest. @throws Problem `invalid_value` for one that would be overridden
 */
export function checkGivenName(kind: Configurable['kind'], name: string, field: string): void {
  if (kind !== 'Function' || !name.startsWith('SVC_')) return;
  const message = `"${name}" is not free: names that begin with SVC_ are the platform's in a function; choose another one.`;
  throw new Problem('invalid_value', message, { details: { field } });
}

/** A workload's variables with some changed. @throws Problem `not_found` for one to remove that is not there */
export function mergedVariables(
  workload: Stored<Configurable>,
  change: z.output<typeof variablesUpdate>,
): Record<string, string> {
  const what = whatOf(workload);
  const { name: owner } = workload.metadata;
  const merged = new Map(workload.spec.env?.map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries(change)) {
    if (value !== null) merged.set(name, value);
    else if (!merged.delete(name)) {
      throw new Problem(
        'not_found',
        `The ${what} "${owner}" has no variable "${name}"; list them with \`svc ${what} env list ${owner}\`.`,
      );
    }
  }
  return Object.fromEntries(merged);
}

/**
 * Changes a workload's variables by what they are, however many do so at once.
 * @param find reads the workload anew for each try @param change what it throws is thrown
 */
export async function changeVariables<Workload extends Configurable>(
  kube: Pick<KubeClient, 'mergePatch'>,
  find: () => Promise<Stored<Workload>>,
  change: (workload: Stored<Workload>) => Promise<Variable[]>,
): Promise<Stored<Workload>> {
  for (let round = 1; ; round++) {
    const workload = await find();
    const env = await change(workload);
    const { apiVersion, kind, metadata } = workload;
    const { name, namespace = '', uid, resourceVersion } = metadata;
    try {
      return await kube.mergePatch<Workload>(
        { apiVersion, kind, namespace, name },
        { metadata: { uid, resourceVersion }, spec: { env: env.length === 0 ? null : env } },
      );
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      if (round === maxRounds) {
        const message = `The ${whatOf(workload)} "${name}" is being changed by others; try again.`;
        throw new Problem('conflict', message, { cause: error });
      }
    }
  }
}

function whatOf({ kind }: Configurable): 'app' | 'function' {
  return kind === 'App' ? 'app' : 'function';
}

function listOf(kind: Configurable['kind'], env: Readonly<Record<string, string>>): Variable[] {
  for (const name of Object.keys(env)) checkGivenName(kind, name, 'env');
  return Object.entries(env)
    .map(([name, value]) => ({ name, value }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
