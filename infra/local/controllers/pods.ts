import { createHash, randomBytes } from 'node:crypto';
import { isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { canonical, controllerOf, refOf } from '../../../runtime/kube/children.ts';
import type { Key, WatchDefinition } from '../../../runtime/kube/controller.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { PodTemplate } from './objects.ts';

/** Without vowels, so that names contain no words. */
const letters = 'bcdfghjklmnpqrstvwxz2456789';
const toLetters = (bytes: Buffer) => [...bytes].map((byte) => letters[byte % letters.length]).join('');

/** The suffix of a generated name: five random characters. */
export function randomSuffix(): string {
  return toLetters(randomBytes(5));
}

/** A hash of a value: ten characters that do not depend on the order of its fields. */
export function contentHash(value: unknown): string {
  return toLetters(createHash('sha256').update(canonical(value)).digest().subarray(0, 10));
}

/** The namespace of an object, for objects in the same one. */
export function namespaceOf({ metadata: { namespace } }: KubeObject): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

/** The owner reference for an object that this owner controls. */
export function ownerReferenceTo({ apiVersion, kind, metadata: { name, uid } }: Stored<KubeObject>) {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** Builds a pod from a template, controlled by its owner. Pure. */
export function podOf(owner: Stored<KubeObject>, template: PodTemplate, name: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name, ...namespaceOf(owner), ownerReferences: [ownerReferenceTo(owner)] },
    spec: structuredClone(template.spec) as unknown as Pod['spec'],
  };
}

/**
 * Lists the objects of a kind that an owner controls, from the API server: an outdated copy could lead to a second pod.
 * Objects that only carry the labels are ignored.
 * @param labels labels of every child; without them all objects of the namespace are read
 */
export async function listControlled<T extends KubeObject>(
  kube: Pick<KubeClient, 'list'>,
  kind: ResourceKind,
  owner: Stored<KubeObject>,
  labels: Readonly<Record<string, string>> = {},
): Promise<Stored<T>[]> {
  const { items } = await kube.list<T>(kind, { ...namespaceOf(owner), labelSelector: selectorOf(labels) });
  return items.filter((item) => controllerOf(item)?.uid === owner.metadata.uid);
}

/** A label selector for all of these labels. Pure. */
export function selectorOf(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Reconciles the controlling owner of a changed object if it is of kind `owner`. */
export function childrenOf(kind: ResourceKind, owner: ResourceKind): WatchDefinition {
  return {
    kind,
    keysOf(object): Key[] {
      const controller = controllerOf(object);
      if (controller?.kind !== owner.kind || controller.apiVersion !== owner.apiVersion) return [];
      return [{ name: controller.name, ...namespaceOf(object) }];
    },
  };
}

/** Creates an object. An existing one is no error. */
export async function createOnce(kube: Pick<KubeClient, 'create'>, object: KubeObject): Promise<void> {
  await kube.create(object).catch((error: unknown) => {
    if (!isKubeError(error, 409)) throw error;
  });
}

/** Deletes exactly this object. It is no error when the object is gone or has been replaced. */
export async function remove(kube: Pick<KubeClient, 'delete'>, object: Stored<KubeObject>): Promise<void> {
  const { deletionTimestamp, uid } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  await kube.delete(refOf(object), { preconditions: { uid } }).catch((error: unknown) => {
    if (!isKubeError(error, 409)) throw error;
  });
}

/** The order in which surplus pods are deleted: first those that serve least, then the newest. */
export function byDeletionOrder(a: Stored<Pod>, b: Stored<Pod>): number {
  const rank = (pod: Pod) => (isPodReady(pod) ? 2 : 0) + (pod.status?.phase === 'Running' ? 1 : 0);
  const createdAt = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  return rank(a) - rank(b) || createdAt(b).localeCompare(createdAt(a));
}
