import type { z } from 'zod';
import type { variablesUpdate } from '../../runtime/contracts/api/variables.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { App } from '../../runtime/contracts/resources/app.ts';
import { Problem } from '../../runtime/domain/problem.ts';
import { resolveVariables, type Variable } from '../../runtime/domain/variables.ts';
import { resolvedEnvironment } from '../../runtime/host/workload-environment.ts';
import { readSecrets } from '../../runtime/host/workload-secrets.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';

/** The variables of a new app, which has no secrets yet. @throws Problem `invalid_value` */
export function newVariables(env: Readonly<Record<string, string>>): Variable[] {
  const variables = listOf(env);
  resolveVariables(variables);
  return variables;
}

/**
 * Variables that are to take the place of an app's own, checked together with its secrets.
 * @throws Problem `invalid_value`, and `already_exists` for a new one with the name of a secret, which would hide it
 */
export async function replacedVariables(
  kube: Pick<KubeClient, 'get'>,
  app: Stored<App>,
  env: Readonly<Record<string, string>>,
): Promise<Variable[]> {
  const variables = listOf(env);
  const { secrets } = await readSecrets(kube, app);
  const before = new Set(app.spec.env?.map(({ name }) => name));
  const hidden = variables.find(({ name }) => !before.has(name) && secrets.some((secret) => secret.name === name));
  if (hidden) {
    throw new Problem(
      'already_exists',
      `The app "${app.metadata.name}" has a secret "${hidden.name}", which would hide the variable; delete the secret first, or choose another name.`,
      { details: { name: hidden.name } },
    );
  }
  resolveVariables(variables, secrets);
  return variables;
}

/** An app's variables with some changed. @throws Problem `not_found` for one to remove that is not there */
export function mergedVariables(app: Stored<App>, change: z.output<typeof variablesUpdate>): Record<string, string> {
  const merged = new Map(app.spec.env?.map(({ name, value }) => [name, value]));
  for (const [name, value] of Object.entries(change)) {
    if (value !== null) merged.set(name, value);
    else if (!merged.delete(name)) {
      throw new Problem(
        'not_found',
        `The app "${app.metadata.name}" has no variable "${name}"; list them with \`svc app env list ${app.metadata.name}\`.`,
      );
    }
  }
  return Object.fromEntries(merged);
}

/**
 * Whether what runs was started with other variables or secrets than there are now. Names of environments are compared,
 * which carry a digest; settings that do not resolve are certainly not what runs.
 */
export async function isRestartPending(kube: Pick<KubeClient, 'get'>, app: Stored<App>): Promise<boolean> {
  const { release, env = [] } = app.spec;
  if (!release) return false;
  const secrets = await readSecrets(kube, app);
  try {
    return resolvedEnvironment(app, env, secrets)?.name !== release.envSecret;
  } catch (error) {
    if (error instanceof Problem) return true;
    throw error;
  }
}

function listOf(env: Readonly<Record<string, string>>): Variable[] {
  return Object.entries(env)
    .map(([name, value]) => ({ name, value }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}
