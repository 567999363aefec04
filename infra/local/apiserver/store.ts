import { createObjectIndex, type ObjectIndex } from '../../../runtime/kube/object-index.ts';
import type { Database } from './database.ts';
import type { ApiObject } from './resource.ts';

/** A change of one object. */
export interface Change {
  version: number;
  type: 'ADDED' | 'MODIFIED' | 'DELETED';
  /** The current object; for a deletion, the last one with the version of the deletion. */
  object: ApiObject;
  /** The object before the change. */
  previous: ApiObject | undefined;
}

/** All objects in memory, written through to disk, with the latest changes of each resource. */
export interface Store {
  /** Reads everything from disk. */
  open(): void;
  close(): void;
  /** The version of the last write. */
  readonly version: number;
  get(resource: string, namespace: string | undefined, name: string): ApiObject | undefined;
  /**
   * Ordered by namespace and name.
   * @param label only objects with it, which an index finds
   */
  list(resource: string, namespace?: string, label?: Label): ApiObject[];
  /** Writes an object and assigns its version. The caller must not change the object afterwards. */
  put(resource: string, object: ApiObject): ApiObject;
  remove(resource: string, object: ApiObject): ApiObject;
  /** The changes after a version; undefined when some of them are no longer stored. */
  since(resource: string, version: number): Change[] | undefined;
  /**
   * Calls the listener for each change of a resource, or of all resources, after it is on disk. @returns a function
   * that unsubscribes
   */
  subscribe(resource: string | undefined, listener: (change: Change) => void): () => void;
}

/** A label of objects. */
export interface Label {
  name: string;
  value: string;
}

/** Labels of a resource that have an index. Others are searched for, so that clients cannot fill the memory with indexes. */
const maxIndexes = 16;

interface Collection {
  objects: Map<string, ApiObject>;
  /** By labels that were asked for. */
  indexes: Map<string, ObjectIndex<ApiObject>>;
  history: Change[];
  /** The history contains all changes after this version. */
  from: number;
  listeners: Set<(change: Change) => void>;
}

const keyOf = (namespace: string | undefined, name: string) =>
  namespace === undefined ? name : `${namespace}/${name}`;

const texts = new WeakMap<object, string>();

/** The JSON of a stored object, serialized once for all watches. */
export function textOf(object: ApiObject): string {
  const text = texts.get(object) ?? JSON.stringify(object);
  texts.set(object, text);
  return text;
}

/** @param historySize number of changes per resource that a watch can resume from */
export function createStore(database: Database, historySize = 1000): Store {
  const collections = new Map<string, Collection>();
  const globalListeners: Collection['listeners'] = new Set();
  let version = 0;
  let openedVersion = 0;

  const collectionOf = (resource: string): Collection => {
    const collection = collections.get(resource) ?? {
      objects: new Map(),
      indexes: new Map(),
      history: [],
      from: openedVersion,
      listeners: new Set(),
    };
    collections.set(resource, collection);
    return collection;
  };
  /** Writes or removes an object, on disk first. */
  const write = (resource: string, object: ApiObject, isRemoval: boolean): ApiObject => {
    const collection = collectionOf(resource);
    const { objects, history, listeners } = collection;
    const key = keyOf(object.metadata.namespace, object.metadata.name);
    const previous = objects.get(key);
    const next = version + 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(next) } };
    if (isRemoval) database.remove({ resource, key, version: next });
    else database.put({ resource, key, version: next, value: textOf(stored) });
    version = next;
    if (isRemoval) objects.delete(key);
    else objects.set(key, stored);
    for (const index of collection.indexes.values()) index.set(key, isRemoval ? undefined : stored, previous);
    const change: Change = {
      version,
      type: isRemoval ? 'DELETED' : previous ? 'MODIFIED' : 'ADDED',
      object: stored,
      previous,
    };
    history.push(change);
    // Trimmed in batches, since removing the first element moves all others.
    if (history.length >= historySize * 1.25)
      collection.from = history.splice(0, history.length - historySize).at(-1)?.version ?? 0;
    for (const listener of [...listeners, ...globalListeners]) listener(change);
    return stored;
  };

  return {
    get version() {
      return version;
    },
    open() {
      const stored = database.open();
      version = stored.version;
      openedVersion = stored.version;
      for (const collection of collections.values())
        Object.assign(collection, { objects: new Map(), indexes: new Map(), history: [], from: openedVersion });
      for (const { resource, key, value } of stored.rows) {
        collectionOf(resource).objects.set(key, JSON.parse(value) as ApiObject);
      }
    },
    close: () => database.close(),
    get: (resource, namespace, name) => collections.get(resource)?.objects.get(keyOf(namespace, name)),
    list(resource, namespace, label) {
      const collection = collections.get(resource);
      if (!collection) return [];
      const candidates = label ? labelled(collection, label) : [...collection.objects.values()];
      return candidates
        .filter(({ metadata }) => namespace === undefined || metadata.namespace === namespace)
        .map((object) => [keyOf(object.metadata.namespace, object.metadata.name), object] as const)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([, object]) => object);
    },
    put: (resource, object) => write(resource, object, false),
    remove: (resource, object) => write(resource, object, true),
    since(resource, after) {
      const { history, from } = collectionOf(resource);
      return after < from ? undefined : history.filter((change) => change.version > after);
    },
    subscribe(resource, listener) {
      const listeners = resource === undefined ? globalListeners : collectionOf(resource).listeners;
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** The objects with a label. The first time, an index is made for it. */
function labelled({ objects, indexes }: Collection, { name, value }: Label): ApiObject[] {
  const valueOf = ({ metadata }: ApiObject) => metadata.labels?.[name];
  const existing = indexes.get(name);
  if (existing) return existing.list(value);
  if (indexes.size >= maxIndexes) return [...objects.values()].filter((object) => valueOf(object) === value);
  const index = createObjectIndex(valueOf);
  for (const [key, object] of objects) index.set(key, object, undefined);
  indexes.set(name, index);
  return index.list(value);
}
