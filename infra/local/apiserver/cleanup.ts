import { customResourceCleanup, customResources } from './custom-resource.ts';
import type { Objects } from './objects.ts';
import type { Registry } from './registry.ts';
import { storageOf, type Resource } from './resource.ts';
import type { Store } from './store.ts';

/** The part of the time that sweeps may take: one of a namespace with thousands of objects takes tens of milliseconds. */
const sweepShare = 0.25;
/** What one sweep deletes at most, so that requests do not wait for all of a large namespace. The next one goes on. */
const deletionsPerSweep = 100;

/** Empties namespaces and definitions that are being deleted, and removes them once they are empty. */
export interface Cleanup {
  /** Continues what an earlier run left unfinished. */
  start(): void;
  stop(): void;
}

export function createCleanup(options: { store: Store; objects: Objects; registry: Registry }): Cleanup {
  const { store, objects, registry } = options;
  let timer: NodeJS.Timeout | undefined;
  let restUntil = 0;
  let unsubscribe: (() => void) | undefined;

  const deleting = (resource: Resource) =>
    store.list(storageOf(resource)).filter(({ metadata }) => metadata.deletionTimestamp !== undefined);

  /** What this sweep may still delete. */
  let deletions = 0;

  /** Deletes objects that are not being deleted yet. @returns whether none is left */
  const deleteObjects = (resource: Resource, namespace?: string): boolean => {
    for (const { metadata } of store.list(storageOf(resource), namespace)) {
      if (deletions === 0) return false;
      if (metadata.deletionTimestamp !== undefined) continue;
      deletions--;
      const place = { resource, namespace: metadata.namespace, name: metadata.name };
      objects.delete(place, { propagationPolicy: 'Background' });
    }
    return store.list(storageOf(resource), namespace).length === 0;
  };

  const sweep = () => {
    deletions = deletionsPerSweep;
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
    timer ??= setTimeout(
      () => {
        timer = undefined;
        const startedAt = performance.now();
        sweep();
        const now = performance.now();
        restUntil = now + (now - startedAt) * (1 / sweepShare - 1);
      },
      Math.max(0, restUntil - performance.now()),
    );
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
      clearTimeout(timer);
    },
  };
}
