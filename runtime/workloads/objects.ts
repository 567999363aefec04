import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import type { JobResource } from '../contracts/resources/job.ts';
import { kinds, workloadResources } from '../contracts/resources/kinds.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Volume } from '../contracts/resources/volume.ts';
import type { Id } from '../domain/ids.ts';
import { environmentIdLabel, idLabel } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';

export type WorkloadObject = App | FunctionResource | JobResource | ServiceResource;

/** A workload that has variables, secrets and bindings. */
export type Configurable = App | FunctionResource | JobResource;

/** An object that users create in an environment. */
export type EnvironmentObject = WorkloadObject | Volume;

/** The Kubernetes resource of each kind of {@link EnvironmentObject}. */
export const resourceByKind = { ...workloadResources, Volume: kinds.Volume } as const;

/** The id of a workload, to which records refer. */
export function workloadIdOf({ kind, metadata }: WorkloadObject): Id {
  const id = metadata.labels?.[idLabel];
  if (id === undefined) throw new Error(`the ${kind} ${metadata.namespace}/${metadata.name} has no label ${idLabel}`);
  return id;
}

/** The id to show. An object without one, such as in a namespace without a project, has its uid. */
export function shownIdOf({ metadata }: Stored<EnvironmentObject>): string {
  return metadata.labels?.[idLabel] ?? metadata.uid;
}

/** Whether the object has this id, so that it was not recreated, and is not being deleted. */
export function isLiving({ metadata }: WorkloadObject, id: Id): boolean {
  return metadata.labels?.[idLabel] === id && metadata.deletionTimestamp === undefined;
}

/**
 * Whether an object is in this environment. Another project can have an environment whose namespace has the same name;
 * only one of the two gets the namespace.
 */
export function isIn({ environmentId }: Pick<Environment, 'environmentId'>, { metadata }: EnvironmentObject): boolean {
  const id = metadata.labels?.[environmentIdLabel];
  return id === undefined || id === environmentId;
}

/** Reads a workload, even if it is being deleted. @throws Problem `not_found` */
export async function getWorkload<T extends EnvironmentObject>(
  kube: Pick<KubeClient, 'get'>,
  kind: T['kind'],
  { project, environment, environmentId, namespace }: Environment,
  name: string,
): Promise<Stored<T>> {
  const object = await kube.get<T>(resourceByKind[kind], name, namespace);
  if (object && isIn({ environmentId }, object)) return object;
  const kindName = kind.toLowerCase();
  throw new Problem(
    'not_found',
    `There is no ${kindName} "${name}" in environment "${environment}" of project "${project}"; list them with \`svc ${kindName} list\`.`,
  );
}

/** Reads a workload. @throws Problem `not_found`, and `not_ready` while it is being deleted */
export async function getLivingWorkload<T extends EnvironmentObject>(
  kube: Pick<KubeClient, 'get'>,
  kind: T['kind'],
  environment: Environment,
  name: string,
): Promise<Stored<T>> {
  const workload = await getWorkload<T>(kube, kind, environment, name);
  if (workload.metadata.deletionTimestamp === undefined) return workload;
  throw new Problem(
    'not_ready',
    `The ${kind.toLowerCase()} "${name}" is being deleted; create it again once it is gone.`,
  );
}

/**
 * Deletes a workload's object; the controller then deletes its children. @returns the object while it still exists
 */
export async function deleteWorkload<T extends EnvironmentObject>(
  kube: KubeClient,
  { kind, apiVersion, metadata }: Stored<T>,
): Promise<Stored<T> | undefined> {
  const { name, namespace = '', uid } = metadata;
  await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
  const remaining = await kube.get<T>(resourceByKind[kind], name, namespace);
  return remaining?.metadata.uid === uid ? remaining : undefined;
}
