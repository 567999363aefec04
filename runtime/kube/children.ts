import { createHash } from 'node:crypto';
import type { KubeObject, ObjectMeta, ObjectRef, OwnerReference, Stored } from '../contracts/kubernetes.ts';
import { apiGroup, managedByLabel, managedByValue, managedLabels } from '../domain/labels.ts';
import { ownerReference } from './claims.ts';
import { includesDesired } from './covers.ts';
import { isKubeError, namespaceTerminating, type KubeClient } from './kube-client.ts';
import { toBlocker, type Blocker } from './blocker.ts';
import { resourceOf } from './resource-paths.ts';

/** The digest of the last desired state, on every child, so that a removed field is noticed. */
const appliedAnnotation = `${apiGroup}/applied`;

/** Attempts to write an object that others change at the same time; then the next reconcile retries. */
const maxRounds = 4;

/** An object that cannot be created or updated; retrying alone does not help. The message names it. */
export class ChildError extends Error {
  readonly ref: ObjectRef;

  constructor(ref: ObjectRef, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'ChildError';
    this.ref = ref;
  }
}

/** An object with the kind and name of a child that the platform did not create, or that another object owns. */
export class ForeignObjectError extends ChildError {
  /** The reconcile may succeed once this object changes. */
  readonly blocker: Blocker;

  constructor(live: Stored<KubeObject>, reason: string, mark = `label ${managedByLabel}=${managedByValue}`) {
    const ref = refOf(live);
    const place = ref.namespace === undefined ? '' : ` in ${ref.namespace}`;
    super(
      ref,
      `${ref.kind} "${ref.name}"${place} ${reason}, so it is not changed. Delete or rename it or, if the platform created it, restore its ${mark}.`,
    );
    this.name = 'ForeignObjectError';
    this.blocker = toBlocker(live);
  }
}

/** An object is being deleted. The reconcile is retried; this is no failure. */
export class NotYetError extends Error {
  override readonly name = 'NotYetError';
}

type Writer = Pick<KubeClient, 'get' | 'create' | 'replace' | 'cache'>;

export interface ChildOptions<T extends KubeObject> {
  /** Copies fields that others set, such as the replicas, from the live object into the desired one. Pure. */
  keep?: (live: Stored<T>, desired: T) => T;
  /** Sets fields that are sent on creation only, such as the first number of replicas. Pure. */
  initially?: (desired: T) => T;
  /**
   * Trusts the cache instead of reading the object, and writes over the version that it shows. For kinds whose every
   * change causes another reconcile.
   */
  cached?: boolean;
  /** Whether the owner is its controller, default true. It is deleted with its owner in any case. */
  controlled?: boolean;
}

/** What was done, and the object as it was written or last read. */
export interface EnsuredChild<T extends KubeObject> {
  outcome: 'created' | 'updated' | 'unchanged';
  object: Stored<T>;
}

/**
 * Creates the object, or replaces it when a desired field differs or was removed. Otherwise it writes nothing.
 * @param owner for the owner reference; undefined for an object without an owner (`svc install`)
 * @throws ForeignObjectError for an object that is not the platform's, ChildError when the API server refuses,
 * NotYetError while a former object is being deleted
 */
export async function ensureChild<T extends KubeObject>(
  kube: Writer,
  owner: Stored<KubeObject> | undefined,
  desired: T,
  options: ChildOptions<T> = {},
): Promise<EnsuredChild<T>['outcome']> {
  return (await ensureChildObject(kube, owner, desired, options)).outcome;
}

/** As {@link ensureChild}, which saves its callers a read of the object. */
export async function ensureChildObject<T extends KubeObject>(
  kube: Writer,
  owner: Stored<KubeObject> | undefined,
  desired: T,
  { keep, initially, cached = false, controlled = true }: ChildOptions<T> = {},
): Promise<EnsuredChild<T>> {
  const ref = refOf(desired);
  const marked = withMarks(owner && Object.assign(ownerReference(owner), { controller: controlled }), desired);
  const isCurrent = (live: Stored<T>) => includesDesired(live, merged(live, keep ? keep(live, marked) : marked));
  const cachedObject = cached ? kube.cache?.get<T>(resourceOf(ref), ref.name, ref.namespace) : undefined;
  // The write names its version, so that it is refused if the object has changed since.
  let copy = cachedObject && isUsable(cachedObject, owner) ? cachedObject : undefined;
  // An object that is not in the cache most likely does not exist, so that reading it first would waste a request.
  let createFirst = cached && kube.cache !== undefined && cachedObject === undefined;
  for (let round = 1; ; round++) {
    const isCopy = copy !== undefined;
    try {
      const live = createFirst ? undefined : (copy ?? (await kube.get<T>(resourceOf(ref), ref.name, ref.namespace)));
      createFirst = false;
      copy = undefined;
      if (!live) return { outcome: 'created', object: await kube.create(initially ? initially(marked) : marked) };
      refuseForeign(live, owner);
      if (isCurrent(live)) return { outcome: 'unchanged', object: live };
      return { outcome: 'updated', object: await kube.replace(merged(live, keep ? keep(live, marked) : marked)) };
    } catch (error) {
      const isOutdated = isKubeError(error, 409) || (isCopy && isKubeError(error, 404));
      if (isOutdated && round < maxRounds) continue;
      throw toChildError(error, ref);
    }
  }
}

/** As {@link ensureChild} for an object without an owner. */
export function applyObject<T extends KubeObject>(kube: Writer, desired: T, options: ChildOptions<T> = {}) {
  return ensureChild(kube, undefined, desired, options);
}

/**
 * Deletes an object if it belongs to the owner.
 * @param options.cached takes one that the cache does not have for deleted: when the cache gets it, its owner is
 *   reconciled again
 * @returns false while it is being deleted; true when it is gone or belongs to another owner
 */
export async function deleteChild(
  kube: Pick<KubeClient, 'get' | 'delete' | 'cache'>,
  owner: Stored<KubeObject> | undefined,
  ref: ObjectRef,
  { cached = false }: { cached?: boolean } = {},
): Promise<boolean> {
  if (cached && kube.cache && !kube.cache.get(resourceOf(ref), ref.name, ref.namespace)) return true;
  const live = await kube.get(resourceOf(ref), ref.name, ref.namespace);
  if (!live || !isOurs(live) || (owner && ownerOf(live)?.uid !== owner.metadata.uid)) return true;
  if (live.metadata.deletionTimestamp !== undefined) return false;
  try {
    await kube.delete(ref, { preconditions: { uid: live.metadata.uid } });
  } catch (error) {
    // The object was recreated meanwhile; the next reconcile checks the new one.
    if (!isKubeError(error, 409)) throw error;
  }
  return (await kube.get(resourceOf(ref), ref.name, ref.namespace)) === undefined;
}

/**
 * Reads a child that another program creates.
 * @returns undefined while it does not exist
 * @throws ForeignObjectError for an object that is not the owner's, NotYetError while one is being deleted
 */
export async function readChild<T extends KubeObject>(
  kube: Pick<KubeClient, 'get'>,
  owner: Stored<KubeObject>,
  ref: ObjectRef,
): Promise<Stored<T> | undefined> {
  const live = await kube.get<T>(resourceOf(ref), ref.name, ref.namespace);
  if (live) refuseForeign(live, owner);
  return live;
}

/** The reference to an object. */
export function refOf({ apiVersion, kind, metadata: { name, namespace } }: KubeObject): ObjectRef {
  return { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) };
}

/** The object that controls this one. */
export function controllerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** The owner of an object: its controller, or else a platform object that owns it without being its controller. */
export function ownerOf(object: KubeObject): OwnerReference | undefined {
  const isPlatforms = ({ apiVersion }: OwnerReference) => apiVersion.startsWith(`${apiGroup}/`);
  return controllerOf(object) ?? object.metadata.ownerReferences?.find(isPlatforms);
}

function isOurs({ metadata }: KubeObject): boolean {
  return metadata.labels?.[managedByLabel] === managedByValue;
}

/** Whether {@link refuseForeign} accepts the object. */
function isUsable(live: Stored<KubeObject>, owner: Stored<KubeObject> | undefined): boolean {
  if (live.metadata.deletionTimestamp !== undefined || !isOurs(live)) return false;
  return ownerOf(live)?.uid === owner?.metadata.uid;
}

/** Only objects with the platform's label and the owner's reference are changed (docs/reference/resources.md#ownership). */
function refuseForeign(live: Stored<KubeObject>, owner: Stored<KubeObject> | undefined): void {
  const controller = ownerOf(live);
  const former =
    controller?.kind === owner?.kind &&
    controller?.name === owner?.metadata.name &&
    controller?.uid !== owner?.metadata.uid;
  // Garbage collection is about to delete the children of a former owner with the same name.
  if (live.metadata.deletionTimestamp !== undefined || (isOurs(live) && former)) {
    throw new NotYetError(`${live.kind} "${live.metadata.name}" is still being deleted`);
  }
  if (!isOurs(live)) throw new ForeignObjectError(live, 'was not created by the platform');
  if (controller && controller.uid !== owner?.metadata.uid) {
    throw new ForeignObjectError(live, `belongs to ${controller.kind} "${controller.name}"`);
  }
  if (owner && !controller) {
    const { kind, metadata } = owner;
    const reason = `has the platform's label but does not belong to ${kind} "${metadata.name}"`;
    throw new ForeignObjectError(live, reason, 'owner reference');
  }
}

/** The object with the platform's label, its owner and the digest, as plain JSON without undefined fields. */
function withMarks<T extends KubeObject>(owner: OwnerReference | undefined, desired: T): T {
  const json = JSON.parse(JSON.stringify(desired)) as T;
  const digest = createHash('sha256').update(canonical(json)).digest('hex').slice(0, 32);
  return {
    ...json,
    metadata: {
      ...json.metadata,
      labels: { ...json.metadata.labels, ...managedLabels() },
      annotations: { ...json.metadata.annotations, [appliedAnnotation]: digest },
      ...(owner && { ownerReferences: [owner] }),
    },
  };
}

/** The update of a live object: the desired fields, with the labels, annotations and owners that others added. */
function merged<T extends KubeObject>(live: Stored<T>, next: T): Stored<T> {
  const { uid, resourceVersion, finalizers = [], ownerReferences = [], labels, annotations } = live.metadata;
  const platformOwners = next.metadata.ownerReferences ?? [];
  const otherOwners = ownerReferences.filter(
    (reference) => !platformOwners.some((owner) => owner.uid === reference.uid),
  );
  const metadata: ObjectMeta & { uid: string; resourceVersion: string } = {
    ...next.metadata,
    uid,
    resourceVersion,
    labels: { ...foreignEntries(labels), ...next.metadata.labels },
    annotations: { ...foreignEntries(annotations), ...next.metadata.annotations },
    finalizers: [...new Set([...finalizers, ...(next.metadata.finalizers ?? [])])],
    ownerReferences: [...otherOwners, ...platformOwners],
  };
  return { ...next, metadata };
}

/** Entries outside the platform's own prefix, whose entries are all part of the desired state. */
function foreignEntries(entries: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(entries ?? {}).filter(([key]) => !key.startsWith(`${apiGroup}/`)));
}

/** JSON with sorted keys. @param value plain JSON, whose undefined fields are left out */
export function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const fields = value as Record<string, unknown>;
  const members = Object.keys(fields)
    .sort()
    .flatMap((key) => (fields[key] === undefined ? [] : `${JSON.stringify(key)}:${canonical(fields[key])}`));
  return `{${members.join(',')}}`;
}

/** A ChildError for a refusal that a retry does not fix; other errors are returned unchanged. */
function toChildError(error: unknown, ref: ObjectRef): unknown {
  if (isKubeError(error) && error.reason === namespaceTerminating) return error;
  if (isKubeError(error) && [400, 403, 422].includes(error.status)) {
    return new ChildError(ref, `${ref.kind} "${ref.name}" was refused by the API server: ${error.message}`, {
      cause: error,
    });
  }
  return error;
}
