import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import { idLabel, managedByLabel, managedByValue, workloadLabels } from '../domain/labels.ts';
import { Problem } from '../domain/problem.ts';
import { isKubeError, type KubeClient } from '../kube/kube-client.ts';
import { workloadIdOf, type WorkloadObject } from './workload-objects.ts';

/** https://kubernetes.io/docs/concepts/configuration/secret/ */
export interface Secret extends KubeObject {
  type?: string;
  immutable?: boolean;
  /** Key → base64. */
  data?: Record<string, string>;
}

/** Others who change the same Secret between read and write. */
const maxTries = 5;

/** A Secret beside a workload that belongs to it and goes with it. Pure. */
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

/** Whether a Secret is the platform's and this very workload's, and not an earlier one's of the same name. */
export function isOwned({ metadata }: Secret, owner: Stored<WorkloadObject>): boolean {
  if (metadata.labels?.[managedByLabel] !== managedByValue) return false;
  return metadata.ownerReferences?.some(({ uid }) => uid === owner.metadata.uid) ?? false;
}

/**
 * Changes what a workload's Secret holds, and makes the Secret when there is none; nothing is written when `change`
 * answers with what it got.
 * @param change is called again when somebody else wrote meanwhile; what it throws is thrown
 * @throws Problem `already_exists` over a Secret that is not the platform's, `not_ready` over one of an earlier workload of
 * this name, which is still going; KubeError 409 when others keep writing
 */
export async function changeOwnedSecret(
  kube: Pick<KubeClient, 'get' | 'create' | 'replace'>,
  owner: Stored<WorkloadObject>,
  name: string,
  change: (data: Readonly<Record<string, string>>) => Record<string, string>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const found = await kube.get<Secret>(kinds.Secret, name, owner.metadata.namespace);
    if (found && !isOwned(found, owner)) throw inTheWay(found, owner);
    const before = found?.data ?? {};
    const data = change(before);
    if (found && data === before) return;
    try {
      if (found) await kube.replace<Secret>({ ...found, data });
      else await kube.create<Secret>(ownedSecret(owner, name, data));
      return;
    } catch (error) {
      if (!isKubeError(error, 409) || attempt === maxTries) throw error;
    }
  }
}

function inTheWay({ metadata }: Secret, { kind }: WorkloadObject): Problem {
  const what = kind.toLowerCase();
  const former = metadata.labels?.[managedByLabel] === managedByValue && metadata.labels[idLabel] !== undefined;
  return former
    ? new Problem(
        'not_ready',
        `The Secret "${metadata.name}" of an earlier ${what} of this name is still being removed; try again in a moment.`,
      )
    : new Problem(
        'already_exists',
        `The Secret "${metadata.name}" exists and is not the platform's; rename or delete it, and try again.`,
      );
}
