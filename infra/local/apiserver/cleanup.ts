import { customResourceCleanup, customResources } from './custom-resource.ts';
import type { Objects } from './objects.ts';
import type { Registry } from './registry.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';
import type { Store } from './store.ts';

const namespaces = '/namespaces';
const definitions = 'apiextensions.k8s.io/customresourcedefinitions';

/** Empties namespaces and definitions that are being deleted, and removes them once nothing is in them. */
export interface Cleanup {
  /** Goes on with what an earlier run left unfinished. */
  start(): void;
  stop(): Promise<void>;
}

export function createCleanup(options: { store: Store; objects: Objects; registry: Registry }): Cleanup {
  const { store, objects, registry } = options;
  const due = new Set<string>();
  const ends: (() => void)[] = [];
  let running: Promise<void> | undefined;
  let stopped = true;

  /** Deletes everything that is not on its way yet. @returns whether nothing is left */
  const empty = (resource: Resource, namespace: string | undefined): boolean => {
    for (const object of store.list(storageOf(resource), namespace)) {
      if (object.metadata.deletionTimestamp !== undefined) continue;
      const { name } = object.metadata;
      const place = { resource, namespace: object.metadata.namespace, name };
      objects.delete(place, { propagationPolicy: 'Background' });
    }
    return store.list(storageOf(resource), namespace).length === 0;
  };

  const visit = (namespace: ApiObject) => {
    const inside = registry.all().filter(({ namespaced }) => namespaced);
    const { name } = namespace.metadata;
    // Pods first: what they use should outlive them, but nothing waits for it.
    const left = inside.filter((resource) => !empty(resource, name));
    if (left.length > 0 || namespace.metadata.finalizers?.length) return;
    objects.finish(registry.kind('Namespace'), namespace);
  };

  const dissolve = (definition: ApiObject) => {
    const [resource] = customResources(definition);
    if (resource && !empty(resource, undefined)) return;
    const place = {
      resource: registry.kind('CustomResourceDefinition', 'apiextensions.k8s.io'),
      namespace: undefined,
      name: definition.metadata.name,
    };
    objects.update(
      place,
      (live) => ({
        ...live,
        metadata: {
          ...live.metadata,
          finalizers: live.metadata.finalizers?.filter((name) => name !== customResourceCleanup),
        },
      }),
      'main',
    );
  };

  const step = (key: string) => {
    const [storage = '', name = ''] = key.split(' ');
    const object = store.get(storage, undefined, name);
    if (object?.metadata.deletionTimestamp === undefined) return;
    if (storage === namespaces) visit(object);
    else if (object.metadata.finalizers?.includes(customResourceCleanup)) dissolve(object);
  };

  const run = async () => {
    for (;;) {
      // Whoever deleted something gets the answer first.
      await new Promise((resolve) => setImmediate(resolve));
      const [key] = due;
      if (key === undefined || stopped) break;
      due.delete(key);
      step(key);
    }
    running = undefined;
  };
  const wake = (key: string) => {
    if (stopped) return;
    due.add(key);
    running ??= run();
  };

  return {
    start() {
      stopped = false;
      ends.push(
        store.subscribe(undefined, ({ type, object }, storage) => {
          const { name, namespace, deletionTimestamp } = object.metadata;
          if (storage === namespaces || storage === definitions) {
            if (deletionTimestamp !== undefined) wake(`${storage} ${name}`);
          } else if (type === 'DELETED') {
            if (namespace !== undefined) wake(`${namespaces} ${namespace}`);
            const [group = '', plural = ''] = storage.split('/');
            if (group) wake(`${definitions} ${plural}.${group}`);
          }
        }),
      );
      for (const storage of [namespaces, definitions]) {
        for (const { metadata } of store.list(storage)) wake(`${storage} ${metadata.name}`);
      }
    },
    async stop() {
      stopped = true;
      for (const end of ends.splice(0)) end();
      await running;
    },
  };
}
