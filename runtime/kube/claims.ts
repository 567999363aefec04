import type { KubeObject, OwnerReference, Stored } from '../contracts/kubernetes.ts';
import type { HostName, WorkloadName } from '../contracts/resources/claims.ts';
import { kinds, workloadResources, type ResourceKind } from '../contracts/resources/kinds.ts';
import type { Id } from '../domain/ids.ts';
import { apiGroup, apiVersion, idLabel, workloadLabels } from '../domain/labels.ts';
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

/**
 * On a claim that was made before the spec that names the host: until when it is kept without one. An ISO 8601 time.
 */
const pendingAnnotation = `${apiGroup}/pending-until`;

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
 * `reserved`, and is told so again whenever it asks. The others learn which kind holds the name. Where workloads of one
 * name are older than the reservation, the oldest keeps it (spec.md §3.3).
 */
export async function reserveName(
  kube: Pick<KubeClient, 'create' | 'get' | 'cache'>,
  workload: Claimant,
): Promise<'reserved' | { holder: WorkloadKind }> {
  const { kind, id, name, namespace } = identityOf(workload);
  // Nobody but its holder gives a claim back; one that is taken away otherwise brings another pass.
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
  const known = kube.cache
    ? kube.cache.get<WorkloadName>(kinds.WorkloadName, name, namespace)
    : await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
  const older = known ? undefined : await olderNamesake(kube, workload);
  if (older) return { holder: older };
  const held = await createOrRead(kube, claim, known !== undefined);
  return held.spec.workloadId === id ? 'reserved' : { holder: held.spec.kind };
}

/** The kind of a workload of this name that is there for longer: nobody has reserved the name yet, and it will. */
async function olderNamesake(
  kube: Pick<KubeClient, 'get' | 'cache'>,
  workload: Claimant,
): Promise<WorkloadKind | undefined> {
  const { kind, name, namespace } = identityOf(workload);
  for (const [other, resource] of Object.entries(workloadResources) as [WorkloadKind, ResourceKind][]) {
    if (other === kind) continue;
    // A full copy shows whatever is older by a second.
    const copies = kube.cache?.list(resource, {}, namespace);
    const namesake = copies
      ? copies.find(({ metadata }) => metadata.name === name)
      : await kube.get(resource, name, namespace);
    if (namesake && namesake.metadata.deletionTimestamp === undefined && isOlder(namesake, workload)) return other;
  }
  return undefined;
}

/** In whole seconds, as Kubernetes keeps them: two of the same second race. */
function isOlder({ metadata }: Stored<KubeObject>, than: Claimant): boolean {
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return created < Date.parse(than.metadata.creationTimestamp ?? '');
}

/** Gives the name back, if the workload holds it: when nothing of the workload is left that another could collide with. */
export async function releaseName(kube: Pick<KubeClient, 'get' | 'delete'>, workload: Claimant): Promise<void> {
  const { id, name, namespace } = identityOf(workload);
  const held = await kube.get<WorkloadName>(kinds.WorkloadName, name, namespace);
  if (held?.spec.workloadId !== id) return;
  await dropClaim(kube, held);
}

/**
 * Claims a public host for the workload, in the whole cluster. Of any number of racers exactly one is told `claimed`, and
 * is told so again whenever it asks. What was claimed ahead of the spec is from now on an ordinary claim.
 */
export async function claimHost(
  kube: Pick<KubeClient, 'create' | 'get' | 'mergePatch' | 'cache'>,
  workload: Claimant,
  host: string,
): Promise<'claimed' | { holder: HostHolder }> {
  const { id } = identityOf(workload);
  const seen = kube.cache?.get<HostName>(kinds.HostName, host);
  if (seen?.spec.workloadId === id && pendingUntil(seen) === undefined) return 'claimed';
  const known = kube.cache ? seen !== undefined : true;
  const held = await createOrRead(kube, hostClaim(workload, host), known);
  if (held.spec.workloadId !== id) return { holder: holderOf(held) };
  if (pendingUntil(held) !== undefined) {
    const { apiVersion: version, kind, metadata } = held;
    const annotations = { [pendingAnnotation]: null };
    await kube.mergePatch({ apiVersion: version, kind, name: host }, { metadata: { uid: metadata.uid, annotations } });
  }
  return 'claimed';
}

/**
 * As {@link claimHost}, for a host that the workload's spec does not name yet: a claim that this call made is kept until
 * `until` without that, and `made` gives it back ({@link dropClaim}) when the spec is not written after all.
 */
export async function claimHostAhead(
  kube: Pick<KubeClient, 'create' | 'get'>,
  workload: Claimant,
  host: string,
  until: Date,
): Promise<'claimed' | { made: Stored<HostName> } | { holder: HostHolder }> {
  const { id } = identityOf(workload);
  const known = await kube.get<HostName>(kinds.HostName, host);
  const claim = hostClaim(workload, host);
  const annotations = { [pendingAnnotation]: until.toISOString() };
  const held = known ?? (await createOrRead(kube, { ...claim, metadata: { ...claim.metadata, annotations } }, false));
  if (held.spec.workloadId !== id) return { holder: holderOf(held) };
  return known ? 'claimed' : { made: held };
}

/** Another workload that holds a host; undefined while nobody does, or this one. */
export async function otherHolder(
  kube: Pick<KubeClient, 'get'>,
  workloadId: Id,
  host: string,
): Promise<HostHolder | undefined> {
  const held = await kube.get<HostName>(kinds.HostName, host);
  return held && held.spec.workloadId !== workloadId ? holderOf(held) : undefined;
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

/** Gives back every host that the workload holds: its end. */
export async function releaseHosts(kube: Pick<KubeClient, 'list' | 'delete'>, workloadId: Id): Promise<void> {
  for (const held of await hostsOf(kube, workloadId)) await dropClaim(kube, held);
}

/**
 * Gives back the hosts that the workload's spec does not name any more, but for those that a spec to come was promised.
 * @returns after how many ms the first such promise ends; undefined when there is none
 */
export async function releaseOtherHosts(
  kube: Pick<KubeClient, 'list' | 'delete' | 'cache'>,
  workloadId: Id,
  keep: readonly string[],
  now: Date,
): Promise<number | undefined> {
  const kept = new Set(keep);
  const known = kube.cache?.list<HostName>(kinds.HostName, { [idLabel]: workloadId });
  if (known?.every(({ metadata }) => kept.has(metadata.name))) return undefined;
  let endsInMs: number | undefined;
  for (const held of await hostsOf(kube, workloadId)) {
    if (kept.has(held.metadata.name)) continue;
    const leftMs = Date.parse(pendingUntil(held) ?? '') - now.getTime();
    if (leftMs > 0) endsInMs = Math.min(leftMs, endsInMs ?? leftMs);
    else await dropClaim(kube, held);
  }
  return endsInMs;
}

async function hostsOf(kube: Pick<KubeClient, 'list'>, workloadId: Id): Promise<Stored<HostName>[]> {
  const { items } = await kube.list<HostName>(kinds.HostName, { labelSelector: `${idLabel}=${workloadId}` });
  return items.filter(({ spec }) => spec.workloadId === workloadId);
}

/** @param look whether a claim of this name may well be there: then it is looked for first */
async function createOrRead<T extends KubeObject>(kube: Pick<KubeClient, 'create' | 'get'>, claim: T, look: boolean) {
  const { name, namespace } = claim.metadata;
  let looking = look;
  for (let round = 1; ; round++) {
    const kind = claim.kind === 'HostName' ? kinds.HostName : kinds.WorkloadName;
    const held = looking ? await kube.get<T>(kind, name, namespace) : undefined;
    if (held) return held;
    try {
      return await kube.create(claim);
    } catch (error) {
      // Lost the race; the next round reads who won.
      if (!isKubeError(error, 409) || round === maxRounds) throw error;
      looking = true;
    }
  }
}

/** Gives back a claim; only the very object that was read: by now another workload may hold the name. */
export async function dropClaim(
  kube: Pick<KubeClient, 'delete'>,
  held: Stored<WorkloadName | HostName>,
): Promise<void> {
  const { name, namespace, uid } = held.metadata;
  const ref = { apiVersion: held.apiVersion, kind: held.kind, name, ...(namespace !== undefined && { namespace }) };
  try {
    await kube.delete(ref, { preconditions: { uid } });
  } catch (error) {
    if (!isKubeError(error, 409)) throw error;
  }
}
