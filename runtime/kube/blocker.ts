import type { KubeObject, ObjectRef, Stored } from '../contracts/kubernetes.ts';

/** An object that blocks the reconcile of another one, such as one with the same name that the platform did not create. */
export interface Blocker {
  ref: ObjectRef;
  /** Its {@link blockerState} when the reconcile failed. */
  state: string;
}

export function toBlocker(object: Stored<KubeObject>): Blocker {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  return {
    ref: { apiVersion, kind, name, ...(namespace !== undefined && { namespace }) },
    state: blockerState(object),
  };
}

/**
 * A text that changes with the identity, labels, owners and deletion of an object, but not with its spec or status, which
 * its own controller may change every second. `gone` for a missing object.
 */
export function blockerState(object: Stored<KubeObject> | undefined): string {
  if (!object) return 'gone';
  const { uid, labels = {}, ownerReferences = [], deletionTimestamp } = object.metadata;
  const sorted = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([uid, deletionTimestamp !== undefined, ownerReferences.map((owner) => owner.uid), sorted]);
}
