import type { Logger } from 'pino';
import type { KubeObject, OwnerReference, Stored } from '../../../runtime/contracts/kubernetes.ts';
import type { ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { refOf } from '../../../runtime/kube/children.ts';
import type { Change } from '../../../runtime/kube/informer.ts';
import type { Informers } from '../../../runtime/kube/informers.ts';
import { createKeyQueue } from '../../../runtime/kube/key-queue.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';

/** Put by the API server on what is deleted with `propagationPolicy: Foreground` or `Orphan`. */
const foreground = 'foregroundDeletion';
const orphan = 'orphan';

/**
 * Deletes what has owners and none of them is left, and takes the finalizers of foreground and orphaning deletion away
 * when what they stand for is done. https://kubernetes.io/docs/concepts/architecture/garbage-collection/
 * @param options.kinds whose objects can own or be owned; their informers are shared
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
  /** What is there, by uid. */
  const objects = new Map<string, Stored<KubeObject>>();
  let working: Promise<void> | undefined;

  const ownersOf = (object: KubeObject | undefined) => object?.metadata.ownerReferences ?? [];
  const dependentsOf = (uid: string) =>
    [...objects.values()].filter((object) => ownersOf(object).some((owner) => owner.uid === uid));

  const observe = ({ type, object, previous }: Change<KubeObject>) => {
    const { uid } = object.metadata;
    if (type === 'deleted') {
      objects.delete(uid);
      for (const { metadata } of dependentsOf(uid)) queue.add(metadata.uid);
    } else {
      objects.set(uid, object);
      queue.add(uid);
    }
    // An owner that waits for its dependents looks again.
    for (const owner of ownersOf(previous ?? object)) queue.add(owner.uid);
  };

  /** Whether an owner is there, asked of the API server: what a watch has not brought proves nothing. */
  const exists = async (dependent: KubeObject, { apiVersion, kind, name, uid }: OwnerReference): Promise<boolean> => {
    if (objects.has(uid)) return true;
    const resource = kinds.get(`${apiVersion}/${kind}`);
    // An owner of a kind that is not known here may well be there.
    if (!resource) return true;
    const live = await kube.get(resource, name, resource.namespaced ? dependent.metadata.namespace : undefined);
    return live?.metadata.uid === uid;
  };

  const remove = async (object: Stored<KubeObject>, propagationPolicy: 'Background' | 'Foreground') => {
    if (object.metadata.deletionTimestamp !== undefined) return;
    const { uid, resourceVersion } = object.metadata;
    // The version too: whoever gives it another owner meanwhile saves it.
    await kube.delete(refOf(object), { preconditions: { uid, resourceVersion }, propagationPolicy });
  };

  const patch = async (object: Stored<KubeObject>, metadata: object) => {
    const { uid, resourceVersion } = object.metadata;
    await kube.mergePatch(refOf(object), { metadata: { uid, resourceVersion, ...metadata } });
  };

  const finish = async (object: Stored<KubeObject>, finalizer: string) => {
    const finalizers = object.metadata.finalizers?.filter((each) => each !== finalizer) ?? [];
    await patch(object, { finalizers });
  };

  const collect = async (object: Stored<KubeObject>) => {
    const { finalizers = [], deletionTimestamp, uid } = object.metadata;
    if (deletionTimestamp !== undefined && finalizers.includes(foreground)) {
      const blocking = dependentsOf(uid).filter((child) =>
        ownersOf(child).some((owner) => owner.uid === uid && owner.blockOwnerDeletion === true),
      );
      for (const child of blocking) await remove(child, 'Foreground');
      if (blocking.length === 0) await finish(object, foreground);
      return;
    }
    if (deletionTimestamp !== undefined && finalizers.includes(orphan)) {
      for (const child of dependentsOf(uid)) await disown(child, [uid]);
      await finish(object, orphan);
      return;
    }
    const owners = ownersOf(object);
    const gone: string[] = [];
    for (const owner of owners) if (!(await exists(object, owner))) gone.push(owner.uid);
    if (gone.length === 0) return;
    if (gone.length === owners.length) await remove(object, 'Background');
    else await disown(object, gone);
  };

  const disown = async (object: Stored<KubeObject>, uids: readonly string[]) => {
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
        // Changed or gone meanwhile, which brings another pass.
        if (!isKubeError(error, 409) && !isKubeError(error, 404))
          log.warn({ err: error, uid, retryInMs }, 'not collected');
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
