import type { Database } from './database.ts';
import type { ApiObject } from './resource.ts';

/** Changes of one resource that a watch can still be given. */
const historyMax = 1000;

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
  subscribe(resource: string | undefined, listener: (change: Change, resource: string) => void): () => void;
}

interface Shelf {
  objects: Map<string, ApiObject>;
  history: Change[];
  /** Changes after this version are all in the history. */
  from: number;
  listeners: Set<(change: Change, resource: string) => void>;
}

const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;
const keyOfObject = ({ metadata }: ApiObject) => keyOf(metadata.namespace, metadata.name);

const texts = new WeakMap<object, string>();

/** The JSON of an object of the store, made once however many watches it goes to. */
export function textOf(object: ApiObject): string {
  let text = texts.get(object);
  if (text === undefined) {
    text = JSON.stringify(object);
    texts.set(object, text);
  }
  return text;
}

/** @param options.history changes kept per resource, 1,000 by default */
export function createStore(database: Database, options: { history?: number } = {}): Store {
  const kept = options.history ?? historyMax;
  const shelves = new Map<string, Shelf>();
  const everything = new Set<(change: Change, resource: string) => void>();
  let version = 0;
  let opened = 0;

  const shelfOf = (resource: string): Shelf => {
    let shelf = shelves.get(resource);
    if (!shelf) {
      shelf = { objects: new Map(), history: [], from: opened, listeners: new Set() };
      shelves.set(resource, shelf);
    }
    return shelf;
  };
  const tell = (resource: string, shelf: Shelf, change: Change) => {
    shelf.history.push(change);
    // In lumps, since taking one off the front moves all the others.
    if (shelf.history.length >= kept * 1.25) {
      const gone = shelf.history.splice(0, shelf.history.length - kept);
      shelf.from = gone.at(-1)?.version ?? shelf.from;
    }
    for (const listener of [...shelf.listeners, ...everything]) listener(change, resource);
  };
  const versioned = (object: ApiObject, next: number): ApiObject => ({
    ...object,
    metadata: { ...object.metadata, resourceVersion: String(next) },
  });

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
    put(resource, object) {
      const shelf = shelfOf(resource);
      const key = keyOfObject(object);
      const previous = shelf.objects.get(key);
      const next = version + 1;
      const stored = versioned(object, next);
      database.put({ resource, key, version: next, value: textOf(stored) });
      version = next;
      shelf.objects.set(key, stored);
      tell(resource, shelf, { version, type: previous ? 'MODIFIED' : 'ADDED', object: stored, previous });
      return stored;
    },
    remove(resource, object) {
      const shelf = shelfOf(resource);
      const key = keyOfObject(object);
      const next = version + 1;
      database.remove({ resource, key, version: next });
      version = next;
      shelf.objects.delete(key);
      const gone = versioned(object, next);
      tell(resource, shelf, { version, type: 'DELETED', object: gone, previous: object });
      return gone;
    },
    since(resource, after) {
      const { history, from } = shelfOf(resource);
      return after < from ? undefined : history.filter((change) => change.version > after);
    },
    subscribe(resource, listener) {
      const { listeners } = resource === undefined ? { listeners: everything } : shelfOf(resource);
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
