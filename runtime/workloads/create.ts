import type { KubeObject, ObjectMeta, Stored } from '../contracts/kubernetes.ts';
import { newId } from '../domain/ids.ts';
import {
  environmentIdLabel,
  environmentLabel,
  idLabel,
  kindLabel,
  managedLabels,
  projectLabel,
  workloadFinalizer,
  workloadLabels,
} from '../domain/labels.ts';
import { isEnvironmentOf, kindPhrase, nameTaken } from '../domain/names.ts';
import { Problem } from '../domain/problem.ts';
import { claimHost, reserveName, type HostHolder } from '../kube/claims.ts';
import type { Environment } from '../kube/environments.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { resourceOf } from '../kube/resource-paths.ts';
import type { EnvironmentObject, WorkloadObject } from './objects.ts';

/** The metadata of a new object in an environment, with its id. */
export function newObjectMetadata(kind: EnvironmentObject['kind'], name: string, at: Environment): ObjectMeta {
  const id = newId();
  return {
    name,
    namespace: at.namespace,
    labels: {
      // A volume has no pods that an app label would select.
      ...(kind === 'Volume'
        ? { ...managedLabels(), [kindLabel]: kind, [idLabel]: id }
        : workloadLabels({ kind, name, id })),
      [projectLabel]: at.project,
      [environmentLabel]: at.environment,
      [environmentIdLabel]: at.environmentId,
    },
    finalizers: [workloadFinalizer],
  };
}

/**
 * Creates an object in an environment, then reserves a workload's name and claims its hosts. When a claim fails, the object
 * is deleted again. @throws Problem `name_taken` (`already_exists` for a volume), `host_taken`, `not_ready`
 */
export async function createObject<T extends EnvironmentObject>(
  kube: KubeClient,
  object: T,
  { hosts = [], environment, asker }: { hosts?: readonly string[]; environment: Environment; asker: HostAsker },
): Promise<Stored<T>> {
  const { kind, metadata } = object;
  const { name } = metadata;
  const created = await createInEnvironment(kube, object, environment, () =>
    kind === 'Volume'
      ? new Problem('already_exists', `There is already a volume "${name}" in this environment.`, { details: { name } })
      : nameTaken(name, kind),
  );
  if (kind === 'Volume') return created;
  const workload = created as Stored<WorkloadObject>;
  try {
    const reservation = await reserveName(kube, workload);
    if (reservation !== 'reserved') throw nameTaken(name, reservation.holder);
    for (const host of hosts) {
      const claim = await claimHost(kube, workload, host);
      if (claim !== 'claimed') throw hostTaken(host, asker, claim.holder);
    }
    return created;
  } catch (error) {
    await rollBack(kube, workload);
    throw error;
  }
}

/** The caller who is told that a host is taken. */
export interface HostAsker {
  project: string;
  /** Whether it is a platform admin, who may know every workload. */
  platformAdmin?: boolean;
}

/**
 * The error for a host that another workload or, without a holder, the platform uses (decision 0001). It names the
 * holder only to those who may see it.
 */
export function hostTaken(host: string, asker?: HostAsker, taker?: HostHolder): Problem {
  const visible = taker && asker && (asker.platformAdmin === true || isEnvironmentOf(taker.namespace, asker.project));
  const holder = visible ? taker : undefined;
  const other = taker ? 'a workload of another project' : 'the platform itself';
  const by = holder ? `${kindPhrase[holder.kind]} ("${holder.name}" in ${holder.namespace})` : other;
  const or = holder ? ` or delete the ${holder.kind.toLowerCase()}` : '';
  return new Problem(
    'host_taken',
    `The host name "${host}" is already used by ${by}; choose another host (--hostname)${or}.`,
    { details: { host, ...(holder && { holder }) } },
  );
}

function environmentNotReady({ environment, project, message }: Environment, cause?: unknown): Problem {
  const reason = message?.replace(/\.$/, '') ?? 'try again in a moment';
  return new Problem('not_ready', `The environment "${environment}" of project "${project}" is not ready: ${reason}.`, {
    cause,
  });
}

/**
 * @throws Problem `not_ready` for the environment or an object of this name that is being deleted; the result of
 * `nameTakenProblem`
 */
async function createInEnvironment<T extends KubeObject>(
  kube: Pick<KubeClient, 'create' | 'get'>,
  object: T,
  environment: Environment,
  nameTakenProblem: () => Problem,
): Promise<Stored<T>> {
  if (!environment.ready) throw environmentNotReady(environment);
  const { name, namespace } = object.metadata;
  try {
    return await kube.create(object);
  } catch (error) {
    if (isKubeError(error, 409)) {
      const existing = await kube.get(resourceOf(object), name, namespace);
      if (existing?.metadata.deletionTimestamp === undefined) throw nameTakenProblem();
      throw new Problem(
        'not_ready',
        `The ${object.kind.toLowerCase()} "${name}" is still being deleted; try again in a moment.`,
      );
    }
    // The namespace does not exist yet, or is being deleted.
    if (isKubeError(error, 404) || (isKubeError(error, 403) && /being terminated/.test(error.message))) {
      throw environmentNotReady(environment, error);
    }
    throw error;
  }
}

/** Keeps the finalizer, because the controller may have created records, which it then deletes. */
async function rollBack(kube: KubeClient, { apiVersion, kind, metadata }: Stored<WorkloadObject>): Promise<void> {
  const { name, namespace = '', uid } = metadata;
  try {
    await kube.delete({ apiVersion, kind, namespace, name }, { preconditions: { uid } });
  } catch {
    // The caller gets the cause of the failed creation; the controller reports the lost claim of the remaining object.
  }
}
