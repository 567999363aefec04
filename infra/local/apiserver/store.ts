import type { Database } from './database.ts';
import type { ApiObject } from './resource.ts';

/** A change of one object. */
export interface Change {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** As it is now; of a deletion, as it was last, with the version of the deletion. */
  object: ApiObject;
  /** As it was before. */
  previous: ApiObject | undefined;
}

/** Every object in memory, written through to disk, with the latest changes of each resource in order. */
export interface Store {
  /** Reads everything from disk. */
  open(): void;
  close(): void;
  /** The version of the last write. */
  readonly version: number;
  get(resource: string, namespace: string | undefined, name: string): ApiObject | undefined;
  /** In the order of their keys, namespace by namespace. */
  list(resource: string, namespace?: string): ApiObject[];
  /** Writes an object and gives it its version. The argument is taken over: nobody may change it afterwards. */
  put(resource: string, object: ApiObject): ApiObject;
  remove(resource: string, object: ApiObject): ApiObject;
  /** The changes after a version; undefined when some of them are no longer known. */
  since(resource: string, version: number): Change[] | undefined;
  /** Calls back for each change of a resource (of all without one), after it is on disk. @returns what ends it */
  subscribe(resource: string | undefined, listener: (change: Change) => void): () => void;
}

interface Shelf {
  objects: Map<string, ApiObject>;
  history: Change[];
  /** Changes after this version are all in the history. */
  from: number;
  listeners: Set<(change: Change) => void>;
}

const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;

const texts = new WeakMap<object, string>();

/** The JSON of an object of the store, made once however many watches it goes to. */
export function textOf(object: ApiObject): string {
  const text = texts.get(object) ?? JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** @param kept changes of each resource that a watch can still be given */
export function createStore(database: Database, kept = 1000): Store {
  const shelves = new Map<string, Shelf>();
  const everything: Shelf['listeners'] = new Set();
  let version = 0;
  let opened = 0;

  const shelfOf = (resource: string): Shelf => {
    const shelf = shelves.get(resource) ?? { objects: new Map(), history: [], from: opened, listeners: new Set() };
    shelves.set(resource, shelf);
    return shelf;
  };
  /** Puts an object into its place, or takes it away, on disk first. */
  const write = (resource: string, object: ApiObject, gone: boolean): ApiObject => {
    const shelf = shelfOf(resource);
    const { objects, history, listeners } = shelf;
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const previous = objects.get(key);
    const next = version + 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(next) } };
    if (gone) database.remove({ resource, key, version: next });
    else database.put({ resource, key, version: next, value: textOf(stored) });
    version = next;
    if (gone) objects.delete(key);
    else objects.set(key, stored);
    const change: Change = {
      version,
      type: gone ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED',
      object: stored,
      previous,
    };
    history.push(change);
    // In lumps, since taking one off the front moves all the others.
    if (history.length >= kept * 1.25) shelf.from = history.splice(0, history.length - kept).at(-1)?.version ?? 0;
    for (const listener of [...listeners, ...everything]) listener(change);
    return stored;
  };

  return {
    get version() {
      return version;
    },
    open() {
      const found = database.open();
      version = found.version;
      opened = found.version;
      for (const shelf of shelves.values()) Object.assign(shelf, { objects: new Map(), history: [], from: opened });
      for (const { resource, key, value } of found.rows) {
        shelfOf(resource).objects.set(key, JSON.parse(value) as ApiObject);
      }
    },
    close: () => database.close(),
    get: (resource, namespace, name) => shelves.get(resource)?.objects.get(keyOf(namespace, name)),
    list(resource, namespace) {
      const prefix = namespace === undefined ? '' : `${namespace}/`;
      return [...(shelves.get(resource)?.objects ?? [])]
        .filter(([key]) => key.startsWith(prefix))
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, object]) => object);
    },
    put: (resource, object) => write(resource, object, false),
    remove: (resource, object) => write(resource, object, true),
    since(resource, after) {
      const { history, from } = shelfOf(resource);
      return after < from ? undefined : history.filter((change) => change.version > after);
    },
    subscribe(resource, listener) {
      const listeners = resource === undefined ? everything : shelfOf(resource).listeners;
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
