import type { KubeObject, ObjectRef, Stored } from '../contracts/kubernetes.ts';

/** An object that stands in the way of another one's reconcile, and what of it matters as it was seen. */
export interface Obstacle {
  ref: ObjectRef;
  /** {@link standingOf} it. */
  seen: string;
}

/** What is in the way, as it is now. */
export function obstacleOf(object: Stored<KubeObject>): Obstacle {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  return { ref: { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) }, seen: standingOf(object) };
}

/**
 * Whose an object is, in one text: it changes with the object's identity, labels, owners and deletion, and not with
 * its spec or status, which a foreign object's own controller may write every second. `gone` for none.
 */
export function standingOf(object: Stored<KubeObject> | undefined): string {
  if (!object) return 'gone';
  const { uid, labels = {}, ownerReferences = [], deletionTimestamp } = object.metadata;
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([uid, deletionTimestamp !== undefined, ownerReferences.map((owner) => owner.uid), sorted]);
}
