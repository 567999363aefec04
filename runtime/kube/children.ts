import { createHash } from 'node:crypto';
import type { KubeObject, ObjectMeta, ObjectRef, OwnerReference, Stored } from '../contracts/kubernetes.ts';
import { apiGroup, managedByLabel, managedByValue, managedLabels } from '../domain/labels.ts';
import { ownerReference } from './claims.ts';
import { covers } from './covers.ts';
import { isKubeError, namespaceTerminating, type KubeClient } from './kube-client.ts';
import { obstacleOf, type Obstacle } from './obstacle.ts';
import { resourceOf } from './resource-paths.ts';

/** On every child: the digest of what was last asked for, so that a field that is no longer wanted is noticed. */
export const appliedAnnotation = `${apiGroup}/applied`;

/** Writers of the same object that come between read and write; the next pass tries again after that. */
const maxRounds = 4;

/** An object that cannot be brought into the wanted state; retrying alone does not help. `message` names it. */
export class ChildError extends Error {
  readonly ref: ObjectRef;

  constructor(ref: ObjectRef, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ChildError';
    this.ref = ref;
  }
}

/** An object of the wanted kind and name that the platform did not create, or that another object controls. */
export class ForeignObjectError extends ChildError {
  /** What was seen in the way; the pass may succeed once that has changed. */
  readonly obstacle: Obstacle;

  constructor(live: Stored<KubeObject>, why: string, lost = `label ${managedByLabel}=${managedByValue}`) {
    const ref = refOf(live);
    const place = ref.namespace === undefined ? '' : ` in ${ref.namespace}`;
    super(
      ref,
      `${ref.kind} "${ref.name}"${place} ${why}; it is left alone. Delete it, rename it, or, if the platform created it, give it back the ${lost}.`,
    );
    this.name = 'ForeignObjectError';
    this.obstacle = obstacleOf(live);
  }
}

/** Something is on its way out or being changed by others; the pass is tried again, and that is no failure. */
export class NotYetError extends Error {
  override readonly name = 'NotYetError';
}

type Writer = Pick<KubeClient, 'get' | 'create' | 'replace' | 'cache'>;

export interface ChildOptions<T extends KubeObject> {
  /** Takes over what others decide, such as a replica count, from the live object into what is written. Pure. */
  keep?: (live: Stored<T>, desired: T) => T;
  /**
   * An object that is as it should be by what the watches have brought is not read. For kinds of which every change
   * brings another pass.
   */
  cached?: boolean;
  /** Whether the owner counts as its controller, default true. Without, it goes with its owner all the same. */
  controlled?: boolean;
}

/**
 * Creates the object, or replaces it when a wanted field differs or a formerly wanted one is to go. Nothing is written
 * otherwise, so that a pass over an unchanged world costs reads only.
 * @param owner goes into the owner reference; undefined for what nobody owns (`svc install`)
 * @throws ForeignObjectError for an object that is not ours, ChildError for one that the API server refuses,
 * NotYetError while a former one is still being deleted
 */
export async function ensureChild<T extends KubeObject>(
  kube: Writer,
  owner: Stored<KubeObject> | undefined,
  desired: T,
  { keep, cached = false, controlled = true }: ChildOptions<T> = {},
): Promise<'created' | 'updated' | 'unchanged'> {
  const ref = refOf(desired);
  const wanted = withMarks(owner && { ...ownerReference(owner), controller: controlled }, desired);
  const asWanted = (live: Stored<T>) => covers(live, merged(live, keep ? keep(live, wanted) : wanted));
  const seen = cached ? kube.cache?.get<T>(resourceOf(ref), ref.name, ref.namespace) : undefined;
  if (seen && isUsable(seen, owner) && asWanted(seen)) return 'unchanged';
  // What no watch has brought is most likely not there: a look before would be a request more for every new object.
  let unseen = cached && kube.cache !== undefined && seen === undefined;
  for (let round = 1; ; round++) {
    try {
      const live = unseen ? undefined : await kube.get<T>(resourceOf(ref), ref.name, ref.namespace);
      unseen = false;
      if (!live) {
        await kube.create(wanted);
        return 'created';
      }
      refuseForeign(live, owner);
      if (asWanted(live)) return 'unchanged';
      await kube.replace(merged(live, keep ? keep(live, wanted) : wanted));
      return 'updated';
    } catch (error) {
      if (isKubeError(error, 409) && round < maxRounds) continue;
      throw explained(error, ref);
    }
  }
}

/** As {@link ensureChild} for an object without an owner. */
export function applyObject<T extends KubeObject>(kube: Writer, desired: T, options: ChildOptions<T> = {}) {
  return ensureChild(kube, undefined, desired, options);
}

/**
 * Deletes an object if it is the owner's: a foreign one of that name is left alone.
 * @returns whether it is gone, or was never ours; false while it is being deleted
 */
export async function deleteChild(
  kube: Pick<KubeClient, 'get' | 'delete'>,
  owner: Stored<KubeObject> | undefined,
  ref: ObjectRef,
): Promise<boolean> {
  const live = await kube.get(resourceOf(ref), ref.name, ref.namespace);
  if (!live || !isOurs(live) || (owner && ownerOf(live)?.uid !== owner.metadata.uid)) return true;
  if (live.metadata.deletionTimestamp !== undefined) return false;
  try {
    await kube.delete(ref, { preconditions: { uid: live.metadata.uid } });
  } catch (error) {
    // Another object by now; the next look judges that one.
    if (!isKubeError(error, 409)) throw error;
  }
  return (await kube.get(resourceOf(ref), ref.name, ref.namespace)) === undefined;
}

/**
 * A child that somebody else makes: read, never written.
 * @returns undefined while there is none
 * @throws ForeignObjectError for an object that is not the owner's, NotYetError while one is being deleted
 */
export async function ownChild<T extends KubeObject>(
  kube: Pick<KubeClient, 'get'>,
  owner: Stored<KubeObject>,
  ref: ObjectRef,
): Promise<Stored<T> | undefined> {
  const live = await kube.get<T>(resourceOf(ref), ref.name, ref.namespace);
  if (live) refuseForeign(live, owner);
  return live;
}

/** Names an object. */
export function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** The object that controls this one. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** The object that this one goes with: its controller, or one of the platform that does not count as that. */
export function ownerOf(object: KubeObject): OwnerReference | undefined {
  const isPlatforms = ({ apiVersion }: OwnerReference) => apiVersion.startsWith(`${apiGroup}/`);
  return controllerOf(object) ?? object.metadata.ownerReferences?.find(isPlatforms);
}

function isOurs({ metadata }: KubeObject): boolean {
  return metadata.labels?.[managedByLabel] === managedByValue;
}

/** Whether {@link refuseForeign} lets it pass. */
function isUsable(live: Stored<KubeObject>, owner: Stored<KubeObject> | undefined): boolean {
  if (live.metadata.deletionTimestamp !== undefined || !isOurs(live)) return false;
  return ownerOf(live)?.uid === owner?.metadata.uid;
}

/** Only what has our label and our owner reference is changed (spec.md §3.3); what has no owner needs the label only. */
function refuseForeign(live: Stored<KubeObject>, owner: Stored<KubeObject> | undefined): void {
  const controller = ownerOf(live);
  const former =
    controller?.kind === owner?.kind &&
    controller?.name === owner?.metadata.name &&
    controller?.uid !== owner?.metadata.uid;
  // Garbage collection takes away what an object of the same name owned before.
  if (live.metadata.deletionTimestamp !== undefined || (isOurs(live) && former)) {
    throw new NotYetError(`${live.kind} "${live.metadata.name}" is still being deleted`);
  }
  if (!isOurs(live)) throw new ForeignObjectError(live, 'was not created by the platform');
  if (controller && controller.uid !== owner?.metadata.uid) {
    throw new ForeignObjectError(live, `belongs to ${controller.kind} "${controller.name}"`);
  }
  if (owner && !controller) {
    const { kind, metadata } = owner;
    const why = `has the platform's label but does not belong to ${kind} "${metadata.name}"`;
    throw new ForeignObjectError(live, why, 'owner reference');
  }
}

/** The object with our label, its owner and the digest; plain JSON, so that undefined fields do not count. */
function withMarks<T extends KubeObject>(owner: OwnerReference | undefined, desired: T): T {
  const plain = JSON.parse(JSON.stringify(desired)) as T;
  const digest = createHash('sha256').update(canonical(plain)).digest('hex').slice(0, 32);
  return {
    ...plain,
    metadata: {
      ...plain.metadata,
      labels: { ...plain.metadata.labels, ...managedLabels() },
      annotations: { ...plain.metadata.annotations, [appliedAnnotation]: digest },
      ...(owner && { ownerReferences: [owner] }),
    },
  };
}

/** What is written over a live object: our fields, and of its metadata what others put there. */
function merged<T extends KubeObject>(live: Stored<T>, next: T): Stored<T> {
  const { uid, resourceVersion, finalizers = [], ownerReferences = [], labels, annotations } = live.metadata;
  const ours = next.metadata.ownerReferences ?? [];
  const others = ownerReferences.filter((reference) => !ours.some((own) => own.uid === reference.uid));
  const metadata: ObjectMeta & { uid: string; resourceVersion: string } = {
    ...next.metadata,
    uid,
    resourceVersion,
    labels: { ...foreignEntries(labels), ...next.metadata.labels },
    annotations: { ...foreignEntries(annotations), ...next.metadata.annotations },
    finalizers: [...new Set([...finalizers, ...(next.metadata.finalizers ?? [])])],
    ownerReferences: [...others, ...ours],
  };
  return { ...next, metadata };
}

/** Entries outside the platform's own prefix: ours are as wanted or gone. */
function foreignEntries(entries: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !key.startsWith(`${apiGroup}/`)));
}

/** JSON with sorted keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}

/** A refusal that no retry cures is the object's fault and names it; the rest is passed on. */
function explained(error: unknown, ref: ObjectRef): unknown {
  if (isKubeError(error) && error.reason === namespaceTerminating) return error;
  if (isKubeError(error) && [400, 403, 422].includes(error.status)) {
    return new ChildError(ref, `${ref.kind} "${ref.name}" was refused by the API server: ${error.message}`, {
      cause: error,
    });
  }
  return error;
}
