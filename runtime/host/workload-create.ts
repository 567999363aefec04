import type { KubeObject, ObjectMeta, Stored } from '../contracts/kubernetes.ts';
import type { workloadResources } from '../contracts/resources/kinds.ts';
import { newId } from '../domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  projectLabel,
  workloadFinalizer,
  workloadLabels,
} from '../domain/labels.ts';
import { kindPhrase, nameTaken } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import { claimHost, reserveName, type HostHolder } from '../kube/claims.ts';
import type { Environment } from '../kube/environments.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { resourceOf } from '../kube/resource-paths.ts';
import type { WorkloadObject } from './workload-objects.ts';

/** The metadata of a new workload: its identity is made here, once. */
export function newWorkloadMetadata(kind: keyof typeof workloadResources, name: string, at: Environment): ObjectMeta {
  return {
    name,
    namespace: at.namespace,
    labels: {
      ...workloadLabels({ kind, name, id: newId() }),
      [projectLabel]: at.project,
      [environmentLabel]: at.environment,
      [environmentIdLabel]: at.environmentId,
    },
    finalizers: [workloadFinalizer],
  };
}

/**
 * Creates a workload's object, then claims its name and its hosts, if it has any; one that loses a claim is deleted
 * again, so that nothing stays behind a refusal. @throws Problem `name_taken`, `host_taken`, `not_ready`
 */
export async function createWorkload<T extends WorkloadObject>(
  kube: KubeClient,
  object: T,
  { hosts = [], environment }: { hosts?: readonly string[]; environment: Environment },
): Promise<Stored<T>> {
  const { kind, metadata } = object;
  const created = await createInEnvironment(kube, object, { environment, taken: () => nameTaken(metadata.name, kind) });
  try {
    const name = await reserveName(kube, created);
    if (name !== 'reserved') throw nameTaken(object.metadata.name, name.holder);
    for (const host of hosts) {
      const claim = await claimHost(kube, created, host);
      if (claim !== 'claimed') throw hostTaken(host, claim.holder);
    }
    return created;
  } catch (error) {
    await takeBack(kube, created);
    throw error;
  }
}

/** Why a host that is held is refused: names the holder (decision 0001), or the platform when there is none. */
export function hostTaken(host: string, holder?: HostHolder): Problem {
  const by = holder ? `${kindPhrase[holder.kind]} ("${holder.name}" in ${holder.namespace})` : 'the platform itself';
  const or = holder ? ` or delete the ${holder.kind.toLowerCase()}` : '';
  return new Problem(
    'host_taken',
    `The host name "${host}" is already used by ${by}; choose another host (--hostname)${or}.`,
    { details: { host, ...(holder && { holder }) } },
  );
}

function environmentNotReady({ environment, project, message }: Environment, cause?: unknown): Problem {
  const why = message?.replace(/\.$/, '') ?? 'try again in a moment';
  return new Problem('not_ready', `The environment "${environment}" of project "${project}" is not ready: ${why}.`, {
    cause,
  });
}

/**
 * Creates an object in an environment. @throws Problem `not_ready` while the environment or a former object of this name
 * is not ready for it; what `taken` makes when there is one
 */
export async function createInEnvironment<T extends KubeObject>(
  kube: Pick<KubeClient, 'create' | 'get'>,
  object: T,
  { environment, taken }: { environment: Environment; taken: () => Problem },
): Promise<Stored<T>> {
  if (!environment.ready) throw environmentNotReady(environment);
  const { name, namespace } = object.metadata;
  try {
    return await kube.create(object);
  } catch (error) {
    if (isKubeError(error, 409)) {
      const held = await kube.get(resourceOf(object), name, namespace);
      if (held?.metadata.deletionTimestamp === undefined) throw taken();
      throw new Problem(
        'not_ready',
        `The ${object.kind.toLowerCase()} "${name}" is still being deleted; try again in a moment.`,
      );
    }
    // The API server's words for a namespace that is not there yet, or that is going.
    if (isKubeError(error, 404) || (isKubeError(error, 403) && /being terminated/.test(error.message))) {
      throw environmentNotReady(environment, error);
    }
    throw error;
  }
}

/** Its finalizer stays: by now the controller may have made records for it, and it removes them. */
async function takeBack(kube: KubeClient, { apiVersion, kind, metadata }: Stored<WorkloadObject>): Promise<void> {
  const { name, namespace = '', uid } = metadata;
  try {
    await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
  } catch {
    // The controller finds a lost claim as well and reports it; what the caller learns is why the create failed.
  }
}
