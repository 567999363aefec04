import type { KubeObject, OwnerReference, Stored } from '../contracts/kubernetes.ts';
import type { HostName, WorkloadName } from '../contracts/resources/claims.ts';
import { kinds, workloadResources, type ResourceKind } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { apiGroup, apiVersion, idLabel, workloadLabels } from '../domain/labels.ts';
import { kindPhrase, type WorkloadKind } from '../domain/names.ts';
import { isKubeError, type KubeClient } from './kube-client.ts';

/** A stored workload with its id as a label, which can hold claims. */
export type Claimant = Stored<KubeObject>;

/** The workload that holds a host. */
export interface HostHolder {
  kind: WorkloadKind;
  namespace: string;
  name: string;
}

/** On a claim of a host that no spec names yet: the ISO 8601 time until which the claim is valid. */
const pendingAnnotation = `${apiGroup}/pending-until`;

/** Attempts to create or read a claim while others create and delete it. */
const maxRounds = 5;

interface Identity {
  kind: WorkloadKind;
  id: Id;
  name: string;
  namespace: string;
}

/** @throws Error for an object that is no workload or has no id */
function identityOf({ kind, metadata }: Claimant): Identity {
  const id = metadata.labels?.[idLabel];
  if (!(kind in kindPhrase) || id === undefined || metadata.namespace === undefined) {
    throw new Error(`${kind} "${metadata.name}" is no workload with an id`);
  }
  return { kind: kind as WorkloadKind, id, name: metadata.name, namespace: metadata.namespace };
}

/** The owner reference of a child, by which it is deleted with its owner. */
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
 * Reserves the workload's name in its environment (docs/reference/resources.md#names). Of concurrent callers exactly one
 * gets `reserved`, also when it repeats the call; the others get the kind of the holder. Of workloads that are older than
 * the reservation, the oldest gets the name.
 */
export async function reserveName(
  kube: Pick<KubeClient, 'create' | 'get' | 'cache'>,
  workload: Claimant,
): Promise<'reserved' | { holder: WorkloadKind }> {
  const { kind, id, name, namespace } = identityOf(workload);
  // Only the holder deletes a claim; any other deletion causes another reconcile.
  if (kube.cache?.get<WorkloadName>(kinds.WorkloadName, name, namespace)?.spec.workloadId === id) return 'reserved';
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
  const existing = kube.cache
    ? kube.cache.get<WorkloadName>(kinds.WorkloadName, name, namespace)
    : await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
  const older = existing ? undefined : await olderNamesake(kube, workload);
  if (older) return { holder: older };
  const liveClaim = await createOrRead(kube, claim, existing !== undefined);
  return liveClaim.spec.workloadId === id ? 'reserved' : { holder: liveClaim.spec.kind };
}

/** The kind of an older workload with this name, which has not reserved the name yet but will. */
async function olderNamesake(
  kube: Pick<KubeClient, 'get' | 'cache'>,
  workload: Claimant,
): Promise<WorkloadKind | undefined> {
  const { kind, name, namespace } = identityOf(workload);
  for (const [other, resource] of Object.entries(workloadResources) as [WorkloadKind, ResourceKind][]) {
    if (other === kind) continue;
    // The cache contains every object that is a second older.
    const copies = kube.cache?.list(resource, {}, namespace);
    const namesake = copies
      ? copies.find(({ metadata }) => metadata.name === name)
      : await kube.get(resource, name, namespace);
    if (namesake && namesake.metadata.deletionTimestamp === undefined && isOlder(namesake, workload)) return other;
  }
  return undefined;
}

/** By whole seconds, the precision of Kubernetes. */
function isOlder({ metadata }: Stored<KubeObject>, than: Claimant): boolean {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return created < Date.parse(than.metadata.creationTimestamp ?? '');
}

/** Releases the name if the workload holds it; call it after all its children are deleted. */
export async function releaseName(kube: Pick<KubeClient, 'get' | 'delete'>, workload: Claimant): Promise<void> {
  const { id, name, namespace } = identityOf(workload);
  const liveClaim = await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
  if (liveClaim?.spec.workloadId !== id) return;
  await dropClaim(kube, liveClaim);
}

/**
 * Claims a public host for the workload in the whole cluster. Of concurrent callers exactly one gets `claimed`, also when
 * it repeats the call. A claim of {@link claimHostAhead} becomes permanent.
 */
export async function claimHost(
  kube: Pick<KubeClient, 'create' | 'get' | 'mergePatch' | 'cache'>,
  workload: Claimant,
  host: string,
): Promise<'claimed' | { holder: HostHolder }> {
  const { id } = identityOf(workload);
  const cached = kube.cache?.get<HostName>(kinds.HostName, host);
  if (cached?.spec.workloadId === id && pendingUntil(cached) === undefined) return 'claimed';
  const mayExist = kube.cache ? cached !== undefined : true;
  const liveClaim = await createOrRead(kube, hostClaim(workload, host), mayExist);
  if (liveClaim.spec.workloadId !== id) return { holder: holderOf(liveClaim) };
  if (pendingUntil(liveClaim) !== undefined) {
    const { apiVersion: version, kind, metadata } = liveClaim;
    const annotations = { [pendingAnnotation]: null };
    await kube.mergePatch({ apiVersion: version, kind, name: host }, { metadata: { uid: metadata.uid, annotations } });
  }
  return 'claimed';
}

/**
 * Like {@link claimHost}, for a host that the workload's spec does not name yet. A claim that this call creates is valid
 * until `until`; release it with {@link dropClaim} when the spec is not written.
 */
export async function claimHostAhead(
  kube: Pick<KubeClient, 'create' | 'get'>,
  workload: Claimant,
  host: string,
  until: Date,
): Promise<'claimed' | { created: Stored<HostName> } | { holder: HostHolder }> {
  const { id } = identityOf(workload);
  const existing = await kube.get<HostName>(kinds.HostName, host);
  const claim = hostClaim(workload, host);
  const annotations = { [pendingAnnotation]: until.toISOString() };
  const liveClaim =
    existing ?? (await createOrRead(kube, { ...claim, metadata: { ...claim.metadata, annotations } }, false));
  if (liveClaim.spec.workloadId !== id) return { holder: holderOf(liveClaim) };
  return existing ? 'claimed' : { created: liveClaim };
}

/** The other workload that holds a host; undefined when this one or none holds it. */
export async function otherHolder(
  kube: Pick<KubeClient, 'get'>,
  workloadId: Id | undefined,
  host: string,
): Promise<HostHolder | undefined> {
  const liveClaim = await kube.get<HostName>(kinds.HostName, host);
  return liveClaim && liveClaim.spec.workloadId !== workloadId ? holderOf(liveClaim) : undefined;
}

function hostClaim(workload: Claimant, host: string): HostName {
  const { kind, id, name, namespace } = identityOf(workload);
  return {
    apiVersion,
    kind: 'HostName',
    metadata: { name: host, labels: workloadLabels({ kind, name, id }) },
    spec: { kind, namespace, name, workloadId: id },
  };
}

function holderOf({ spec: { kind, namespace, name } }: HostName): HostHolder {
  return { kind, namespace, name };
}

function pendingUntil({ metadata }: HostName): string | undefined {
  return metadata.annotations?.[pendingAnnotation];
}

/** Releases all hosts of a deleted workload. */
export async function releaseHosts(kube: Pick<KubeClient, 'list' | 'delete'>, workloadId: Id): Promise<void> {
  for (const liveClaim of await hostsOf(kube, workloadId)) await dropClaim(kube, liveClaim);
}

/**
 * Releases the hosts that the workload's spec no longer names, except valid claims of {@link claimHostAhead}.
 * @returns the ms until the first of these expires; undefined without any
 */
export async function releaseOtherHosts(
  kube: Pick<KubeClient, 'list' | 'delete' | 'cache'>,
  workloadId: Id,
  keep: readonly string[],
  now: Date,
): Promise<number | undefined> {
  const current = new Set(keep);
  const claims = kube.cache?.list<HostName>(kinds.HostName, { [idLabel]: workloadId });
  if (claims?.every(({ metadata }) => current.has(metadata.name))) return undefined;
  let expiresInMs: number | undefined;
  for (const liveClaim of await hostsOf(kube, workloadId)) {
    if (current.has(liveClaim.metadata.name)) continue;
    const remainingMs = Date.parse(pendingUntil(liveClaim) ?? '') - now.getTime();
    if (remainingMs > 0) expiresInMs = Math.min(remainingMs, expiresInMs ?? remainingMs);
    else await dropClaim(kube, liveClaim);
  }
  return expiresInMs;
}

async function hostsOf(kube: Pick<KubeClient, 'list'>, workloadId: Id): Promise<Stored<HostName>[]> {
  const { items } = await kube.list<HostName>(kinds.HostName, { labelSelector: `${idLabel}=${workloadId}` });
  return items.filter(({ spec }) => spec.workloadId === workloadId);
}

/** @param mayExist whether to read the claim before creating it */
async function createOrRead<T extends KubeObject>(
  kube: Pick<KubeClient, 'create' | 'get'>,
  claim: T,
  mayExist: boolean,
) {
  const { name, namespace } = claim.metadata;
  let readFirst = mayExist;
  for (let round = 1; ; round++) {
    const kind = claim.kind === 'HostName' ? kinds.HostName : kinds.WorkloadName;
    const liveClaim = readFirst ? await kube.get<T>(kind, name, namespace) : undefined;
    if (liveClaim) return liveClaim;
    try {
      return await kube.create(claim);
    } catch (error) {
      // Another caller created it first; the next round reads it.
      if (!isKubeError(error, 409) || round === maxRounds) throw error;
      readFirst = true;
    }
  }
}

/** Deletes a claim, unless it was recreated for another workload since it was read. */
export async function dropClaim(
  kube: Pick<KubeClient, 'delete'>,
  liveClaim: Stored<WorkloadName | HostName>,
): Promise<void> {
  const { name, namespace, uid } = liveClaim.metadata;
  const ref = {
    apiVersion: liveClaim.apiVersion,
    kind: liveClaim.kind,
    name,
    ...(namespace !== undefined && { namespace }),
  };
  try {
    await kube.delete(ref, { preconditions: { uid } });
  } catch (error) {
    if (!isKubeError(error, 409)) throw error;
  }
}
