import { customResourceCleanup, customResources } from './custom-resource.ts';
import type { Objects } from './objects.ts';
import type { Registry } from './registry.ts';
import { storageOf, type Resource } from './resource.ts';
import type { Store } from './store.ts';

/** Empties namespaces and definitions that are being deleted, and removes them once they are empty. */
export interface Cleanup {
  /** Continues what an earlier run left unfinished. */
  start(): void;
  stop(): void;
}

export function createCleanup(options: { store: Store; objects: Objects; registry: Registry }): Cleanup {
  const { store, objects, registry } = options;
  let immediate: NodeJS.Immediate | undefined;
  let unsubscribe: (() => void) | undefined;

  const deleting = (resource: Resource) =>
    store.list(storageOf(resource)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);

  /** Deletes all objects that are not being deleted yet. @returns whether none is left */
  const deleteObjects = (resource: Resource, namespace?: string): boolean => {
    for (const { metadata } of store.list(storageOf(resource), namespace)) {
      if (metadata.deletionTimestamp !== undefined) continue;
      const place = { resource, namespace: metadata.namespace, name: metadata.name };
      objects.delete(place, { propagationPolicy: 'Background' });
    }
    return store.list(storageOf(resource), namespace).length === 0;
  };

  const sweep = () => {
    const namespaces = registry.kind('Namespace');
    for (const namespace of deleting(namespaces)) {
      const { name, finalizers = [] } = namespace.metadata;
      const remaining = registry.all().filter((resource) => resource.namespaced && !deleteObjects(resource, name));
      if (remaining.length === 0 && finalizers.length === 0) objects.finish(namespaces, namespace);
    }
    const definitions = registry.kind('CustomResourceDefinition', 'apiextensions.k8s.io');
    for (const definition of deleting(definitions)) {
      const { name, finalizers = [] } = definition.metadata;
      const [resource] = customResources(definition);
      if (!finalizers.includes(customResourceCleanup) || (resource && !deleteObjects(resource))) continue;
      const otherFinalizers = finalizers.filter((finalizer) => finalizer !== customResourceCleanup);
      const place = { resource: definitions, namespace: undefined, name };
      objects.update(
        place,
        (live) => ({ ...live, metadata: { ...live.metadata, finalizers: otherFinalizers } }),
        'main',
      );
    }
  };
  const scheduleSweep = () => {
    // Deferred, so that the request that deleted something is answered first.
    immediate ??= setImmediate(() => {
      immediate = undefined;
      sweep();
    });
  };

  return {
    start() {
      unsubscribe = store.subscribe(undefined, ({ type, object }) => {
        if (type === 'DELETED' || object.metadata.deletionTimestamp !== undefined) scheduleSweep();
      });
      scheduleSweep();
    },
    stop() {
      unsubscribe?.();
      clearImmediate(immediate);
    },
  };
}
