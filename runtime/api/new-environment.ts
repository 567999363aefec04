import type { Pool } from 'pg';
import type { NewBinding } from '../contracts/api/bindings.ts';
import type { Stored } from '../contracts/kubernetes.ts';
import type { Binding } from '../contracts/resources/binding.ts';
import type { Clock } from '../domain/clock.ts';
import { newId } from '../domain/ids.ts';
import { secretsExpectedAnnotation } from '../domain/labels.ts';
import type { Variable } from '../domain/variables.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';
import type { Configurable } from '../workloads/objects.ts';
import { createSecretStore } from '../workloads/secrets.ts';
import { newBindings } from './binding-routes.ts';
import { newSecrets, newVariables } from './workload-variables.ts';

interface Dependencies {
  kube: KubeClient;
  pool: Pool;
  clock: Clock;
}

/** The fields of a create request that decide the environment of the workload's pods. */
interface RequestedEnvironment {
  name: string;
  env?: Readonly<Record<string, string>> | undefined;
  secrets?: Readonly<Record<string, string>> | undefined;
  bindings?: readonly NewBinding[] | undefined;
}

/** What a new workload needs for its environment. */
interface NewEnvironment<Workload extends Configurable> {
  spec: { env?: Variable[]; bindings?: Binding[] };
  /** Lets its pods wait for the secrets. */
  annotations: Record<string, string>;
  /** Stores the secrets of the workload, which owns them and so has to exist first. */
  storeSecrets: (created: Stored<Workload>) => Promise<Stored<Workload>>;
}

/**
 * Checks the variables, secrets and bindings of a new workload together: a variable can refer to the other two.
 * @throws Problem `invalid_value`, `already_exists`, `not_found` for a service, `in_use` for a database
 */
export async function newEnvironment<Workload extends Configurable>(
  dependencies: Dependencies,
  kind: Workload['kind'],
  environment: Environment,
  { name, env = {}, secrets = {}, bindings: requested = [] }: RequestedEnvironment,
): Promise<NewEnvironment<Workload>> {
  const { bindings, variables: bound } = await newBindings(dependencies, environment, name, requested);
  const values = newSecrets(kind, secrets, env);
  const list = newVariables(kind, env, [...values, ...bound]);
  return {
    spec: { ...(list.length > 0 && { env: list }), ...(bindings.length > 0 && { bindings }) },
    annotations: values.length > 0 ? { [secretsExpectedAnnotation]: 'true' } : {},
    storeSecrets: async (created) => (values.length === 0 ? created : storeFirst(dependencies, created, values)),
  };
}

async function storeFirst<Workload extends Configurable>(
  { kube, clock }: Dependencies,
  created: Stored<Workload>,
  values: readonly Variable[],
): Promise<Stored<Workload>> {
  await createSecretStore({ kube, clock }).create(created, values);
  const { apiVersion, kind, metadata } = created;
  const { name, namespace = '', uid } = metadata;
  return kube.mergePatch<Workload>(
    { apiVersion, kind, namespace, name },
    {
      metadata: { uid, annotations: { [secretsExpectedAnnotation]: null } },
      // No controller may watch Secrets. The deployments of an app read them when they start.
      ...(kind !== 'App' && { spec: { secretsRevision: newId() } }),
    },
  );
}
