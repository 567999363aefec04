import type { Stored } from '../contracts/kubernetes.ts';
import type { App } from '../contracts/resources/app.ts';
import type { FunctionResource } from '../contracts/resources/function.ts';
import type { JobResource } from '../contracts/resources/job.ts';
import { workloadResources } from '../contracts/resources/kinds.ts';
import type { ServiceResource } from '../contracts/resources/service.ts';
import type { Id } from '../domain/ids.ts';
import { idLabel } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import type { Environment } from '../kube/environments.ts';
import type { KubeClient } from '../kube/kube-client.ts';

export type WorkloadObject = App | FunctionResource | JobResource | ServiceResource;

/** A workload's identity, which records refer to. */
export function workloadIdOf({ kind, metadata }: WorkloadObject): Id {
  const id = metadata.labels?.[idLabel];
  if (id === undefined) throw new Error(`the ${kind} ${metadata.namespace}/${metadata.name} has no label ${idLabel}`);
  return id;
}

/** What is shown for it: one that no controller has given an identity, such as in a namespace of no project, has its object's. */
export function shownIdOf({ metadata }: Stored<WorkloadObject>): string {
  return metadata.labels?.[idLabel] ?? metadata.uid;
}

/** Whether the object is the one of this identity, and stays: one of the same name with another id was created anew. */
export function isLiving({ metadata }: WorkloadObject, id: Id): boolean {
  return metadata.labels?.[idLabel] === id && metadata.deletionTimestamp === undefined;
}

/** The workload, being deleted or not. @throws Problem `not_found` */
export async function getWorkload<T extends WorkloadObject>(
  kube: KubeClient,
  kind: T['kind'],
  { project, environment, namespace }: Environment,
  name: string,
): Promise<Stored<T>> {
  const found = await kube.get<T>(workloadResources[kind], name, namespace);
  if (found) return found;
  const what = kind.toLowerCase();
  throw new Problem(
    'not_found',
    `There is no ${what} "${name}" in environment "${environment}" of project "${project}"; list them with \`svc ${what} list\`.`,
  );
}

/** The workload. @throws Problem `not_found`, and `not_ready` while it is being deleted */
export async function getLivingWorkload<T extends WorkloadObject>(
  kube: KubeClient,
  kind: T['kind'],
  environment: Environment,
  name: string,
): Promise<Stored<T>> {
  const found = await getWorkload<T>(kube, kind, environment, name);
  if (found.metadata.deletionTimestamp === undefined) return found;
  throw new Problem(
    'not_ready',
    `The ${kind.toLowerCase()} "${name}" is being deleted; create it again once it is gone.`,
  );
}

/**
 * Deletes a workload's object; the controller's finalizer does the rest. The answer is the object while it is still
 * there, as it is shown until it is gone.
 */
export async function deleteWorkload<T extends WorkloadObject>(
  kube: KubeClient,
  { kind, apiVersion, metadata }: Stored<T>,
): Promise<Stored<T> | undefined> {
  const { name, namespace = '', uid } = metadata;
  await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
  const left = await kube.get<T>(workloadResources[kind], name, namespace);
  return left?.metadata.uid === uid ? left : undefined;
}
