import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { backoffMs } from './backoff.ts';
import { createObjectIndex, type ObjectIndex } from './object-index.ts';
import { KubeError, type KubeClient, type Selection } from './kube-client.ts';

/** A watch without events or bookmarks for this long counts as dead; the server sends bookmarks about once a minute. */
const defaultSilenceMs = 150_000;
/** Maximum time between two lists, because events may be lost unnoticed. A watch that ends later is followed by a list. */
const defaultRelistMs = 1_800_000;
/** Back-off after failures. */
const retry = { baseMs: 200, maxMs: 30_000 };
/** Back-off while the API server is unreachable; shorter, because attempts are cheap and its return is noticed soon. */
const unreachable = { ...retry, maxMs: 5_000 };
/** A watch that lasted this long resets the back-off, even without events. */
const provenMs = 5_000;

/** One change of an informer's objects. */
export interface Change<T extends KubeObject> {
  type: 'added' | 'modified' | 'deleted';
  /** For `deleted`: the last known state. */
  object: Stored<T>;
  /** The state before. */
  previous?: Stored<T>;
}

/**
 * A local copy of the objects of one kind and selection, kept current by a watch. After interrupted connections, expired
 * versions, refusals, silence and lost events it lists again if needed, and reports the difference as changes. Do not
 * modify the objects, which are shared.
 */
export interface Informer<T extends KubeObject> {
  readonly kind: ResourceKind;
  readonly selection: Selection;
  start(): void;
  /** Resolves once the informer has ended. */
  stop(): Promise<void>;
  /** Whether the first list has completed. */
  synced(): boolean;
  /** Resolves after the first list; rejects when the informer stops before. */
  whenSynced(): Promise<void>;
  /** Milliseconds since the last list, event or bookmark; Infinity before the first. */
  lastSeenMs(): number;
  /** Whether the objects are listed and the server has accepted the watch, which has not ended. */
  watching(): boolean;
  /** The version that the objects are from; undefined before the first list. */
  version(): string | undefined;
  get(name: string, namespace?: string): Stored<T> | undefined;
  list(): Stored<T>[];
  /** The objects of one namespace. Uses an index, as does {@link listLabeled}. */
  listIn(namespace: string): Stored<T>[];
  /** The objects with this value of a label, in one namespace or, by default, in all. */
  listLabeled(label: string, value: string, namespace?: string): Stored<T>[];
  /** Calls the listener on every change from now on; logs its errors. @returns a function that unsubscribes */
  onChange(listener: (change: Change<T>) => void): () => void;
}

export interface InformerOptions {
  kube: Pick<KubeClient, 'list' | 'watch'>;
  kind: ResourceKind;
  selection?: Selection;
  clock: Clock;
  log: Logger;
  /** Default 150,000. */
  silenceMs?: number;
  /** Default 1,800,000. */
  relistMs?: number;
}

class SilentWatchError extends Error {
  override readonly name = 'SilentWatchError';
}

/** Creates an informer; call {@link Informer.start}. */
export function createInformer<T extends KubeObject>(options: InformerOptions): Informer<T> {
  const { kube, kind, selection = {}, clock, silenceMs = defaultSilenceMs, relistMs = defaultRelistMs } = options;
  const log = options.log.child({ informer: kind.kind });
  const objects = new Map<string, Stored<T>>();
  /** Each is created on its first use, because most informers need none. */
  const indexes = new Map<string, ObjectIndex<Stored<T>>>();
  const listeners = new Set<(change: Change<T>) => void>();
  const stopping = new AbortController();
  const firstList = Promise.withResolvers<void>();
  // The rejection is unhandled when nothing waits for it.
  firstList.promise.catch(() => undefined);
  let running: Promise<void> | undefined;
  let synced = false;
  let seenAt = Number.NEGATIVE_INFINITY;
  let listedAt = Number.NEGATIVE_INFINITY;
  let version: string | undefined;
  let knownVersion: string | undefined;
  let watching = false;
  let failures = 0;
  let reachable = true;

  const notify = (change: Change<T>) => {
    for (const listener of listeners) {
      try {
        listener(change);
      } catch (error) {
        log.error({ err: error }, 'informer listener failed');
      }
    }
  };

  const put = (object: Stored<T>) => {
    const key = keyOf(object.metadata.name, object.metadata.namespace);
    const previous = objects.get(key);
    if (previous?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    // Deleted and recreated between two lists.
    const recreated = previous && previous.metadata.uid !== object.metadata.uid;
    if (recreated) remove(previous);
    objects.set(key, object);
    for (const index of indexes.values()) index.set(key, object, recreated ? undefined : previous);
    if (previous && !recreated) notify({ type: 'modified', object, previous });
    else notify({ type: 'added', object });
  };

  const remove = (object: Stored<T>) => {
    const key = keyOf(object.metadata.name, object.metadata.namespace);
    const previous = objects.get(key);
    if (!previous) return;
    objects.delete(key);
    for (const index of indexes.values()) index.set(key, undefined, previous);
    notify({ type: 'deleted', object, previous });
  };

  const indexOf = (name: string, valueOf: (object: Stored<T>) => string | undefined): ObjectIndex<Stored<T>> => {
    const existing = indexes.get(name);
    if (existing) return existing;
    const index = createObjectIndex(valueOf);
    for (const [key, object] of objects) index.set(key, object, undefined);
    indexes.set(name, index);
    return index;
  };

  const relist = async () => {
    const { items, resourceVersion } = await kube.list<T>(kind, selection);
    seenAt = clock.monotonic();
    const present = new Set(items.map(({ metadata }) => keyOf(metadata.name, metadata.namespace)));
    for (const [key, object] of objects) if (!present.has(key)) remove(object);
    for (const object of items) put(object);
    version = knownVersion = resourceVersion;
    listedAt = seenAt;
    synced = true;
    firstList.resolve();
  };

  /** Aborts the watch after too long a silence. */
  const guard = async (connection: AbortController, startedAt: number) => {
    while (!connection.signal.aborted) {
      const remaining = Math.max(startedAt, seenAt) + silenceMs - clock.monotonic();
      if (remaining <= 0) connection.abort(new SilentWatchError(`no event or bookmark for ${silenceMs} ms`));
      else await clock.sleep(remaining, connection.signal).catch(() => undefined);
    }
  };

  const follow = async (from: string) => {
    const connection = new AbortController();
    const signal = AbortSignal.any([stopping.signal, connection.signal]);
    const startedAt = clock.monotonic();
    const guarded = guard(connection, startedAt);
    const onOpen = () => {
      watching = true;
    };
    try {
      const events = kube.watch<T>(kind, { ...selection, resourceVersion: from }, signal, onOpen);
      for await (const { type, object } of events) {
        if (signal.aborted) break;
        seenAt = clock.monotonic();
        failures = 0;
        version = knownVersion = object.metadata.resourceVersion;
        if (type === 'DELETED') remove(object);
        else if (type !== 'BOOKMARK') put(object);
      }
      connection.signal.throwIfAborted();
      // A watch that ends at once counts as a failure, which avoids a tight loop.
      if (clock.monotonic() - startedAt < provenMs) failures += 1;
    } catch (error) {
      // An aborted connection reports another error.
      connection.signal.throwIfAborted();
      throw error;
    } finally {
      watching = false;
      if (clock.monotonic() - startedAt >= provenMs) failures = 0;
      connection.abort();
      await guarded;
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        if (version === undefined || clock.monotonic() - listedAt >= relistMs) await relist();
        if (version !== undefined) await follow(version);
        reachable = true;
      } catch (error) {
        if (stopping.signal.aborted) break;
        failures += 1;
        reachable = error instanceof KubeError;
        // After a broken connection the watch continues; other errors may have lost events.
        if (error instanceof SilentWatchError || (error instanceof KubeError && error.status !== 429))
          version = undefined;
        const fields = { err: error, failures, relist: version === undefined };
        // Each informer logs an outage once, not at every attempt.
        if (failures === 1) log.warn(fields, 'watch interrupted');
        else log.debug(fields, 'watch interrupted again');
      }
      const backoff = reachable ? retry : unreachable;
      if (failures > 0) await clock.sleep(backoffMs(failures, backoff), stopping.signal).catch(() => undefined);
    }
  };

  return {
    kind,
    selection,
    start() {
      running ??= run();
    },
    async stop() {
      stopping.abort(new Error('the informer was stopped'));
      firstList.reject(stopping.signal.reason as Error);
      await running;
    },
    synced: () => synced,
    whenSynced: () => firstList.promise,
    lastSeenMs: () => clock.monotonic() - seenAt,
    watching: () => watching,
    version: () => knownVersion,
    get: (name, namespace) => objects.get(keyOf(name, namespace)),
    list: () => [...objects.values()],
    listIn: (namespace) => indexOf('', ({ metadata }) => metadata.namespace).list(namespace),
    listLabeled(label, value, namespace) {
      const labelOf = ({ metadata }: Stored<T>) => metadata.labels?.[label];
      if (namespace === undefined) return indexOf(label, labelOf).list(value);
      return indexOf(`${label} in its namespace`, (object) => {
        const own = labelOf(object);
        return own === undefined ? undefined : keyOf(own, object.metadata.namespace);
      }).list(keyOf(value, namespace));
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ''}/${name}`;
}
