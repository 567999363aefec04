import { createHash, randomBytes } from 'node:crypto';
import { isPodReady, type Pod } from '../../../runtime/contracts/pod.ts';
import type { KubeObject, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import { canonical, controllerOf, refOf } from '../../../runtime/kube/children.ts';
import type { Key, WatchDefinition } from '../../../runtime/kube/controller.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';
import type { PodTemplate } from './objects.ts';

/** Without vowels, so that no name says anything. */
const letters = 'bcdfghjklmnpqrstvwxz2456789';
const spell = (bytes: Buffer) => [...bytes].map((byte) => letters[byte % letters.length]).join('');

/** The end of a generated name: five random letters. */
export function randomSuffix(): string {
  return spell(randomBytes(5));
}

/** A name for what a value contains: ten letters, the same for the same content whatever the order of its fields. */
export function contentHash(value: unknown): string {
  return spell(createHash('sha256').update(canonical(value)).digest().subarray(0, 10));
}

/** The namespace of what lies beside an object. */
export function beside({ metadata: { namespace } }: KubeObject): { namespace?: string } {
  return namespace === undefined ? {} : { namespace };
}

/** The owner reference of a controller's child. */
export function controlledBy({ apiVersion, kind, metadata: { name, uid } }: Stored<KubeObject>) {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

/** A pod of a template, controlled by its owner. Pure. */
export function podOf(owner: Stored<KubeObject>, template: PodTemplate, name: string): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...template.metadata, name, ...beside(owner), ownerReferences: [controlledBy(owner)] },
    spec: structuredClone(template.spec) as unknown as Pod['spec'],
  };
}

/**
 * What an owner controls of one kind, read and not remembered: a pass that acted on an older picture would make a pod
 * twice. An object that merely carries the labels is nobody's child and is left alone.
 * @param labels what every child carries: without them everything of the namespace is read
 */
export async function controlled<T extends KubeObject>(
  kube: Pick<KubeClient, 'list'>,
  kind: ResourceKind,
  owner: Stored<KubeObject>,
  labels: Readonly<Record<string, string>> = {},
): Promise<Stored<T>[]> {
  const { items } = await kube.list<T>(kind, { ...beside(owner), labelSelector: selecting(labels) });
  return items.filter((item) => controllerOf(item)?.uid === owner.metadata.uid);
}

/** The selector of what carries all of these labels. Pure. */
export function selecting(labels: Readonly<Record<string, string>>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(',');
}

/** Brings the controller of a changed object of this kind, if that is of the controller's own kind. */
export function childrenOf(kind: ResourceKind, owner: ResourceKind): WatchDefinition {
  return {
    kind,
    keysOf(object): Key[] {
      const controller = controllerOf(object);
      if (controller?.kind !== owner.kind || controller.apiVersion !== owner.apiVersion) return [];
      return [{ name: controller.name, ...beside(object) }];
    },
  };
}

/** Creates an object; one that is there already is no error. */
export async function createOnce(kube: Pick<KubeClient, 'create'>, object: KubeObject): Promise<void> {
  await kube.create(object).catch((error: unknown) => {
    if (!isKubeError(error, 409)) throw error;
  });
}

/** Deletes exactly this object; one that is gone, or another by now, is no error. */
export async function remove(kube: Pick<KubeClient, 'delete'>, object: Stored<KubeObject>): Promise<void> {
  const { deletionTimestamp, uid } = object.metadata;
  if (deletionTimestamp !== undefined) return;
  await kube.delete(refOf(object), { preconditions: { uid } }).catch((error: unknown) => {
    if (!isKubeError(error, 409)) throw error;
  });
}

/** The order in which pods are given up: those that serve least, and of equals the youngest. */
export function byUsefulness(a: Stored<Pod>, b: Stored<Pod>): number {
  const rank = (pod: Pod) => (isPodReady(pod) ? 2 : 0) + (pod.status?.phase === 'Running' ? 1 : 0);
  const born = ({ metadata }: Pod) => metadata.creationTimestamp ?? '';
  return rank(a) - rank(b) || born(b).localeCompare(born(a));
}
