import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { backoffMs } from './backoff.ts';
import { KubeError, type KubeClient, type Selection } from './kube-client.ts';

/** Bookmarks come about once a minute; a watch without a sign of life for this long counts as dead. */
const defaultSilenceMs = 150_000;
/** A watch that ends after this long is followed by a list instead of another watch: an event may be lost without a sign. */
const defaultRelistMs = 1_800_000;
/** Wait before the n-th try in a row. */
const retry = { baseMs: 200, maxMs: 30_000 };
/** As long as there is nobody to ask, one more attempt costs little; whoever comes back is found soon. */
const unreachable = { ...retry, maxMs: 5_000 };
/** A watch that lived this long was a working one, even if nothing happened meanwhile. */
const provenMs = 5_000;

/** One change of an informer's objects. */
export interface Change<T extends KubeObject> {
  type: 'added' | 'modified' | 'deleted';
  /** For `deleted`: the last state that was seen. */
  object: Stored<T>;
  /** The state before. */
  previous?: Stored<T>;
}

/**
 * A local copy of the objects of one kind and selection, kept current by a watch. It survives cuts, versions that are too
 * old, refusals, silence and lost events: it lists again when it must, and tells the difference as changes. Objects are shared: readers
 * must not alter them.
 */
export interface Informer<T extends KubeObject> {
  readonly kind: ResourceKind;
  readonly selection: Selection;
  start(): void;
  /** Resolves once nothing runs any more. */
  stop(): Promise<void>;
  /** Whether the objects were listed once. */
  synced(): boolean;
  /** Resolves at the first list; rejects when the informer stops before. */
  whenSynced(): Promise<void>;
  /** Age of the API server's last sign of life (list, event or bookmark) in ms; Infinity before the first. */
  lastSeenMs(): number;
  get(name: string, namespace?: string): Stored<T> | undefined;
  list(): Stored<T>[];
  /** Calls the listener on every change from now on; what it throws is logged. The answer unsubscribes. */
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

/** Constructs an informer; {@link Informer.start} makes it work. */
export function createInformer<T extends KubeObject>(options: InformerOptions): Informer<T> {
  const { kube, kind, selection = {}, clock, silenceMs = defaultSilenceMs, relistMs = defaultRelistMs } = options;
  const log = options.log.child({ informer: kind.kind });
  const objects = new Map<string, Stored<T>>();
  const listeners = new Set<(change: Change<T>) => void>();
  const stopping = new AbortController();
  const firstList = Promise.withResolvers<void>();
  // Nobody has to wait for it.
  firstList.promise.catch(() => undefined);
  let running: Promise<void> | undefined;
  let synced = false;
  let seenAt = Number.NEGATIVE_INFINITY;
  let listedAt = Number.NEGATIVE_INFINITY;
  let version: string | undefined;
  let failures = 0;
  let reached = true;

  const tell = (change: Change<T>) => {
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
    // Deleted and created again while nobody looked.
    const remade = previous && previous.metadata.uid !== object.metadata.uid;
    if (remade) remove(previous);
    objects.set(key, object);
    if (previous && !remade) tell({ type: 'modified', object, previous });
    else tell({ type: 'added', object });
  };

  const remove = (object: Stored<T>) => {
    const key = keyOf(object.metadata.name, object.metadata.namespace);
    const previous = objects.get(key);
    if (!previous) return;
    objects.delete(key);
    tell({ type: 'deleted', object, previous });
  };

  const relist = async () => {
    const { items, resourceVersion } = await kube.list<T>(kind, selection);
    seenAt = clock.monotonic();
    const present = new Set(items.map(({ metadata }) => keyOf(metadata.name, metadata.namespace)));
    for (const [key, object] of objects) if (!present.has(key)) remove(object);
    for (const object of items) put(object);
    version = resourceVersion;
    listedAt = seenAt;
    synced = true;
    firstList.resolve();
  };

  /** Aborts the watch when nothing was seen for too long. */
  const guard = async (watching: AbortController, begun: number) => {
    while (!watching.signal.aborted) {
      const left = Math.max(begun, seenAt) + silenceMs - clock.monotonic();
      if (left <= 0) watching.abort(new SilentWatchError(`nothing was seen for ${silenceMs} ms`));
      else await clock.sleep(left, watching.signal).catch(() => undefined);
    }
  };

  const follow = async (from: string) => {
    const watching = new AbortController();
    const signal = AbortSignal.any([stopping.signal, watching.signal]);
    const begun = clock.monotonic();
    const guarded = guard(watching, begun);
    try {
      for await (const { type, object } of kube.watch<T>(kind, { ...selection, resourceVersion: from }, signal)) {
        if (signal.aborted) break;
        seenAt = clock.monotonic();
        failures = 0;
        version = object.metadata.resourceVersion;
        if (type === 'DELETED') remove(object);
        else if (type !== 'BOOKMARK') put(object);
      }
      watching.signal.throwIfAborted();
      // A server that ends each watch at once gets no tight loop.
      if (clock.monotonic() - begun < provenMs) failures += 1;
    } catch (error) {
      // An aborted connection fails in words of its own.
      watching.signal.throwIfAborted();
      throw error;
    } finally {
      if (clock.monotonic() - begun >= provenMs) failures = 0;
      watching.abort();
      await guarded;
    }
  };

  const run = async () => {
    while (!stopping.signal.aborted) {
      try {
        if (version === undefined || clock.monotonic() - listedAt >= relistMs) await relist();
        if (version !== undefined) await follow(version);
        reached = true;
      } catch (error) {
        if (stopping.signal.aborted) break;
        failures += 1;
        reached = error instanceof KubeError;
        // After a cut the watch goes on where it was; anything else may have lost events.
        if (error instanceof SilentWatchError || (error instanceof KubeError && error.status !== 429))
          version = undefined;
        const fields = { err: error, failures, relist: version === undefined };
        // Every kind has a watch: an outage is told once by each, and not at every attempt.
        if (failures === 1) log.warn(fields, 'watch interrupted');
        else log.debug(fields, 'watch interrupted again');
      }
      const wait = reached ? retry : unreachable;
      if (failures > 0) await clock.sleep(backoffMs(failures, wait), stopping.signal).catch(() => undefined);
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
    get: (name, namespace) => objects.get(keyOf(name, namespace)),
    list: () => [...objects.values()],
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

function keyOf(name: string, namespace: string | undefined): string {
  return `${namespace ?? ''}/${name}`;
}
