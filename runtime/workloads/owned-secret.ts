import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { idLabel, managedByLabel, managedByValue, workloadLabels } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf, type WorkloadObject } from './objects.ts';

/** https://kubernetes.io/docs/concepts/configuration/secret/ */
export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  /** Key → base64. */
  data?: Record<string, string>;
}

/** Attempts to write a Secret that others change at the same time. */
const maxTries = 5;

/** A Secret that a workload owns, so that both are deleted together. Pure. */
export function ownedSecret(owner: Stored<WorkloadObject>, name: string, data: Record<string, string>): Secret {
  const { apiVersion, kind, metadata } = owner;
  return {
    apiVersion: kinds.Secret.apiVersion,
    kind: kinds.Secret.kind,
    metadata: {
      name,
      ...(metadata.namespace !== undefined && { namespace: metadata.namespace }),
      labels: workloadLabels({ kind, name: metadata.name, id: workloadIdOf(owner) }),
      ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid, controller: true }],
    },
    type: 'Opaque',
    data,
  };
}

/** Whether a Secret belongs to this workload, and not to a former one with the same name. */
export function isOwned({ metadata }: Secret, owner: Stored<WorkloadObject>): boolean {
  if (metadata.labels?.[managedByLabel] !== managedByValue) return false;
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
}

/**
 * Changes the data of a workload's Secret, which it creates if needed. Writes nothing when `change` returns its argument.
 * @param change called again after a concurrent write; its errors are thrown
 * @throws Problem `already_exists` for a Secret that is not the platform's, `not_ready` for one of a former workload with
 * this name that is being deleted; KubeError 409 when others keep writing
 */
export async function changeOwnedSecret(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  owner: Stored<WorkloadObject>,
  name: string,
  change: (data: Readonly<Record<string, string>>) => Record<string, string>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const secret = await kube.get<Secret>(kinds.Secret, name, owner.metadata.namespace);
    if (secret && !isOwned(secret, owner)) throw foreignSecret(secret, owner);
    const current = secret?.data ?? {};
    const data = change(current);
    if (secret && data === current) return;
    try {
      if (secret) await kube.replace<Secret>({ ...secret, data });
      else await kube.create<Secret>(ownedSecret(owner, name, data));
      return;
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxTries) throw error;
    }
  }
}

function foreignSecret({ metadata }: Secret, { kind }: WorkloadObject): Problem {
  const what = kind.toLowerCase();
  const former = metadata.labels?.[managedByLabel] === managedByValue && metadata.labels[idLabel] !== undefined;
  return former
    ? new Problem(
        'not_ready',
        `The Secret "${metadata.name}" of a former ${what} with this name is still being deleted; try again in a moment.`,
      )
    : new Problem(
        'already_exists',
        `The Secret "${metadata.name}" already exists and was not created by the platform. Rename or delete it, then try again.`,
      );
}
