import type { Logger } from 'pino';
import type { KubeObject, OwnerReference, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { Change } from '../../../runtime/kube/informer.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { createKeyQueue } from '../../../runtime/kube/key-queue.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';

/** Finalizers that the API server sets for `propagationPolicy: Foreground` and `Orphan`. */
const foreground = 'foregroundDeletion';
const orphan = 'orphan';

/**
 * Deletes objects whose owners are all gone, and completes foreground and orphaning deletion.
 * https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 * @param options.kinds kinds that can own or be owned; their informers are shared
 */
export function createGarbageCollector(options: {
  kube: KubeClient;
  informers: Informers;
  kinds: readonly ResourceKind[];
  clock: Clock;
  log: Logger;
}): { start(): void; stop(): Promise<void> } {
  const { kube, informers, clock } = options;
  const log = options.log.child({ controller: 'garbage-collector' });
  const queue = createKeyQueue(clock);
  const kinds = new Map(options.kinds.map((kind) => [`${kind.apiVersion}/${kind.kind}`, kind]));
  /** All objects by uid. */
  const objects = new Map<string, Stored<KubeObject>>();
  /** The uids of objects by those of their owners. */
  const dependents = new Map<string, Set<string>>();
  let working: Promise<void> | undefined;

  const ownersOf = (object: KubeObject | undefined) => object?.metadata.ownerReferences ?? [];
  const dependentsOf = (uid: string) =>
    [...(dependents.get(uid) ?? [])].flatMap((dependent) => objects.get(dependent) ?? []);

  const keep = (uid: string, object: Stored<KubeObject> | undefined) => {
    for (const owner of ownersOf(objects.get(uid))) {
      const ofOwner = dependents.get(owner.uid);
      ofOwner?.delete(uid);
      if (ofOwner?.size === 0) dependents.delete(owner.uid);
    }
    if (!object) {
      objects.delete(uid);
      return;
    }
    objects.set(uid, object);
    for (const owner of ownersOf(object)) {
      const ofOwner = dependents.get(owner.uid) ?? new Set();
      dependents.set(owner.uid, ofOwner.add(uid));
    }
  };

  const observe = ({ type, object, previous }: Change<KubeObject>) => {
    const { uid } = object.metadata;
    if (type === 'deleted') {
      keep(uid, undefined);
      for (const { metadata } of dependentsOf(uid)) queue.add(metadata.uid);
    } else {
      keep(uid, object);
      queue.add(uid);
    }
    // Owners may be waiting for this dependent.
    for (const owner of ownersOf(previous ?? object)) queue.add(owner.uid);
  };

  /** Whether an owner exists. Asks the API server, since an object that is missing in a watch may still exist. */
  const exists = async (dependent: KubeObject, { apiVersion, kind, name, uid }: OwnerReference): Promise<boolean> => {
    if (objects.has(uid)) return true;
    const resource = kinds.get(`${apiVersion}/${kind}`);
    // An owner of an unknown kind may exist.
    if (!resource) return true;
    const live = await kube.get(resource, name, resource.namespaced ? dependent.metadata.namespace : undefined);
    return live?.metadata.uid === uid;
  };

  const remove = async (object: Stored<KubeObject>, propagationPolicy: 'Background' | 'Foreground') => {
    if (object.metadata.deletionTimestamp !== undefined) return;
    const { uid, resourceVersion } = object.metadata;
    // With the version, so that an object that has just got another owner is not deleted.
    await kube.delete(refOf(object), { preconditions: { uid, resourceVersion }, propagationPolicy });
  };

  const patch = async (object: Stored<KubeObject>, metadata: object) => {
    const { uid, resourceVersion } = object.metadata;
    await kube.mergePatch(refOf(object), { metadata: { uid, resourceVersion, ...metadata } });
  };

  const removeFinalizer = async (object: Stored<KubeObject>, finalizer: string) => {
    const finalizers = object.metadata.finalizers?.filter((name) => name !== finalizer) ?? [];
    await patch(object, { finalizers });
  };

  const collect = async (object: Stored<KubeObject>) => {
    const { finalizers = [], deletionTimestamp, uid } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.includes(foreground)) {
      const blocking = dependentsOf(uid).filter((child) =>
        ownersOf(child).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
      );
      for (const child of blocking) await remove(child, 'Foreground');
      if (blocking.length === 0) await removeFinalizer(object, foreground);
      return;
    }
    if (deletionTimestamp !== undefined && finalizers.includes(orphan)) {
      for (const child of dependentsOf(uid)) await removeOwners(child, [uid]);
      await removeFinalizer(object, orphan);
      return;
    }
    const owners = ownersOf(object);
    const missing: string[] = [];
    for (const owner of owners) if (!(await exists(object, owner))) missing.push(owner.uid);
    if (missing.length === 0) return;
    if (missing.length === owners.length) await remove(object, 'Background');
    else await removeOwners(object, missing);
  };

  const removeOwners = async (object: Stored<KubeObject>, uids: readonly string[]) => {
    const ownerReferences = ownersOf(object).filter(({ uid }) => !uids.includes(uid));
    await patch(object, { ownerReferences });
  };

  const work = async () => {
    for (let uid = await queue.take(); uid !== undefined; uid = await queue.take()) {
      const object = objects.get(uid);
      try {
        if (object) await collect(object);
        queue.forget(uid);
      } catch (error) {
        const retryInMs = Math.round(queue.retry(uid));
        // The object has changed or is gone, which queues it again.
        if (!isKubeError(error, 409) && !isKubeError(error, 404))
          log.warn({ err: error, uid, retryInMs }, 'garbage collection failed');
      }
      queue.done(uid);
    }
  };

  for (const kind of options.kinds) informers.of(kind).onChange(observe);
  return {
    start() {
      working ??= work();
    },
    async stop() {
      queue.close();
      await working;
    },
  };
}
