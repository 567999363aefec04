import type { KubeObject, OwnerReference, Stored } from '../contracts/kubernetes.ts';
import type { HostName, WorkloadName } from '../contracts/resources/claims.ts';
import { kinds } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { apiVersion, idLabel, workloadLabels } from '../domain/labels.ts';
import { kindPhrase, type WorkloadKind } from '../domain/names.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** A workload that can hold claims: it is stored and carries its id as a label. */
export type Claimant = Stored<KubeObject>;

/** Who holds a host that was asked for. */
export interface HostHolder {
  kind: WorkloadKind;
  namespace: string;
  name: string;
}

/** Creation and deletion may cross; each round is one of them. */
const maxRounds = 5;

interface Identity {
  kind: WorkloadKind;
  id: Id;
  name: string;
  namespace: string;
}

/** @throws Error when the object is no workload or was created without its id */
function identityOf({ kind, metadata }: Claimant): Identity {
  const id = metadata.labels?.[idLabel];
  if (!(kind in kindPhrase) || id === undefined || metadata.namespace === undefined) {
    throw new Error(`${kind} "${metadata.name}" is no workload with an id`);
  }
  return { kind: kind as WorkloadKind, id, name: metadata.name, namespace: metadata.namespace };
}

/** What makes a child belong to its owner, and go with it. */
export function ownerReference(owner: Stored<KubeObject>): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/**
 * Reserves the workload's name in its environment (spec.md §2.7): of any number of racers exactly one is told
 * `reserved`, and is told so again whenever it asks. The others learn which kind holds the name.
 */
export async function reserveName(
  kube: Pick<KubeClient, 'create' | 'get'>,
  workload: Claimant,
): Promise<'reserved' | { holder: WorkloadKind }> {
  const { kind, id, name, namespace } = identityOf(workload);
  const claim: WorkloadName = {
    apiVersion,
    kind: 'WorkloadName',
    metadata: {
      name,
      namespace,
      labels: workloadLabels({ kind, name, id }),
      ownerReferences: [ownerReference(workload)],
    },
    spec: { kind, workloadId: id },
  };
  const held = await createOrRead(kube, claim);
  return held.spec.workloadId === id ? 'reserved' : { holder: held.spec.kind };
}

/** Gives the name back, if the workload holds it: when nothing of the workload is left that another could collide with. */
export async function releaseName(kube: Pick<KubeClient, 'get' | 'delete'>, workload: Claimant): Promise<void> {
  const { id, name, namespace } = identityOf(workload);
  const held = await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
  if (held?.spec.workloadId !== id) return;
  await deleteClaim(kube, held);
}

/**
 * Claims a public host for the workload, in the whole cluster. Of any number of racers exactly one is told `claimed`, and
 * is told so again whenever it asks.
 */
export async function claimHost(
  kube: Pick<KubeClient, 'create' | 'get'>,
  workload: Claimant,
  host: string,
): Promise<'claimed' | { holder: HostHolder }> {
  const { kind, id, name, namespace } = identityOf(workload);
  const claim: HostName = {
    apiVersion,
    kind: 'HostName',
    metadata: { name: host, labels: workloadLabels({ kind, name, id }) },
    spec: { kind, namespace, name, workloadId: id },
  };
  const { spec } = await createOrRead(kube, claim);
  if (spec.workloadId === id) return 'claimed';
  return { holder: { kind: spec.kind, namespace: spec.namespace, name: spec.name } };
}

/** Gives back every host that the workload holds, but for `except`. */
export async function releaseHosts(
  kube: Pick<KubeClient, 'list' | 'delete'>,
  workloadId: Id,
  except?: string,
): Promise<void> {
  const { items } = await kube.list<HostName>(kinds.HostName, { labelSelector: `${idLabel}=${workloadId}` });
  for (const held of items) {
    if (held.spec.workloadId === workloadId && held.metadata.name !== except) await deleteClaim(kube, held);
  }
}

async function createOrRead<T extends KubeObject>(kube: Pick<KubeClient, 'create' | 'get'>, claim: T) {
  const { name, namespace } = claim.metadata;
  for (let round = 1; ; round++) {
    const held = await kube.get<T>(claim.kind === 'HostName' ? kinds.HostName : kinds.WorkloadName, name, namespace);
    if (held) return held;
    try {
      return await kube.create(claim);
    } catch (error) {
      // Lost the race; the next round reads who won.
      if (!isKubeError(error, 409) || round === maxRounds) throw error;
    }
  }
}

/** Only the very object that was read: by now another workload may hold the name. */
async function deleteClaim(kube: Pick<KubeClient, 'delete'>, held: Stored<WorkloadName | HostName>): Promise<void> {
  const { name, namespace, uid } = held.metadata;
  const ref = { apiVersion: held.apiVersion, kind: held.kind, name, ...(namespace !== undefined && { namespace }) };
  try {
    await kube.delete(ref, { preconditions: { uid } });
  } catch (error) {
    if (!isKubeError(error, 409)) throw error;
  }
}
