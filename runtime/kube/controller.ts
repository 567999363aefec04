import { isDeepStrictEqual } from 'node:util';
import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { managedByLabel, managedByValue } from '../domain/labels.ts';
import { controllerOf, ForeignObjectError, NotYetError } from './children.ts';
import type { ControllerMetrics, ReconcileResult } from './controller-metrics.ts';
import type { Informers } from './informers.ts';
import { isKubeError, namespaceTerminating, type KubeClient, type Selection } from './kube-client.ts';
import { createKeyQueue } from './key-queue.ts';
import { createBlockerWatch, type BlockerWatch } from './blocker-watch.ts';
import { isRefusal } from './refusal.ts';
import type { Blocker } from './blocker.ts';

/**
 * Each key is reconciled about this often in any case, for changes that no watch reports, such as a lost row. For a
 * thousand workloads this costs less than one read per second.
 */
const defaultResyncMs = 3_600_000;
/** Many, because a reconcile mostly waits for the API server. */
const defaultWorkers = 16;
/**
 * The first reconcile of each object after a start takes it from the informer if that listed it, or heard of its kind,
 * within this time, in ms. A new leader reads each object again only when it has to write.
 */
const currentMs = 20_000;
/** Selects the objects that the platform created. */
export const managedSelection: Selection = { labelSelector: `${managedByLabel}=${managedByValue}` };

/** Identifies one object of a controller's kind. */
export interface Key {
  namespace?: string;
  name: string;
}

/** The key of the object with this metadata. */
export function keyOf({ name, namespace }: { name: string; namespace?: string | undefined }): Key {
  return { name, ...(namespace !== undefined && { namespace }) };
}

/** The input of one reconcile. */
export interface ReconcileRequest<T extends KubeObject> extends Key {
  /**
   * Read for this reconcile, so that it never acts for a deleted object; undefined when it does not exist. Just after a
   * start, and with {@link ControllerDefinition.fromCopies}, the copy of the informer, whose changes cause another
   * reconcile.
   */
  object: Stored<T> | undefined;
  /** Aborted when the controller stops. */
  signal: AbortSignal;
  /** With the controller's name and the key. */
  log: Logger;
}

/** Another kind whose changes affect a controller's objects. */
export interface WatchDefinition {
  kind: ResourceKind;
  selection?: Selection;
  /** Ignores changes of the status only. */
  ignoreStatus?: boolean;
  /** Ignores new objects. */
  ignoreAdded?: boolean;
  /**
   * Called with the states of the object after and before a change.
   * @param objects every object of the controller's own kind
   */
  keysOf(object: Stored<KubeObject>, objects: () => Stored<KubeObject>[]): Key[];
}

/** The result of one reconcile. */
export interface ReconcileOutcome {
  requeueAfterMs?: number;
  /** Objects that block a part of the reconcile: the key is reconciled again when one of them changes. */
  blockers?: readonly Blocker[];
}

/** Defines a controller. A reconcile may run at any time and repeatedly, but never twice at once for one key. */
export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  name: string;
  kind: ResourceKind;
  /** Selects objects of the kind; default all. */
  selection?: Selection;
  /** Whether an object ever needs a reconcile, which reads it again; default every one. */
  concerns?(object: Stored<T>): boolean;
  /**
   * Whether the informer's copy of an object will do: a newer object causes another reconcile, and refuses what this one
   * writes of it (409), after which it is read. Only for kinds with a finalizer, so that a copy never shows an object that
   * is gone as if it were there; one that is being deleted is read. Default no.
   */
  fromCopies?: boolean;
  /** Kinds of children with the platform's label. A change of one reconciles its owner. */
  owns?: readonly ResourceKind[];
  watches?: readonly WatchDefinition[];
  /** Concurrent reconciles; default 16. */
  workers?: number;
  /**
   * Makes the cluster match the object. After an error the key is retried with a back-off; after a
   * {@link ForeignObjectError} also when the foreign object changes.
   */
  reconcile(request: ReconcileRequest<T>): Promise<ReconcileOutcome | void>;
}

export interface Controller {
  readonly name: string;
  /** Registers its informers; call it before they start. */
  register(): void;
  registered(): boolean;
  /** Starts the workers, also again after {@link stop}; call it after the informers have synced. */
  start(): void;
  /** Starts no further reconciles and waits for running ones. */
  stop(): Promise<void>;
  /** Reconciles all objects, after a change that affects all of them. */
  enqueueAll(): void;
  /** Reconciles one object if it exists, after a change that no watch reports. */
  enqueue(key: Key): void;
}

export interface ControllerOptions {
  kube: Pick<KubeClient, 'get' | 'list' | 'watch'>;
  definition: ControllerDefinition;
  informers: Informers;
  metrics: ControllerMetrics;
  clock: Clock;
  log: Logger;
  /** Default 3,600,000, with jitter. */
  resyncMs?: number;
}

/** What runs from a start to the next stop. */
interface Run {
  stopping: AbortController;
  blockers: BlockerWatch;
  tasks: Promise<void>[];
}

/** Runs a {@link ControllerDefinition} with watches, queue, workers, back-off, resync and metrics. */
export function createController(options: ControllerOptions): Controller {
  const { kube, definition, informers, metrics, clock, resyncMs = defaultResyncMs } = options;
  const { name, kind, selection, fromCopies = false, owns = [], watches = [], workers = defaultWorkers } = definition;
  const log = options.log.child({ controller: name });
  const queue = createKeyQueue(clock);
  let run: Run | undefined;
  let registered = false;
  /** The objects whose first reconcile after the start is still to come. */
  const untouched = new Set<string>();
  /** Objects whose last reconcile failed, perhaps because the copy was old. */
  const failed = new Set<string>();

  const enqueue = (key: Key) => queue.add(keyText(key));
  /** Skips objects that are not in the cache: their creation or deletion causes a reconcile by itself. */
  const enqueueExisting = (keys: readonly Key[]) => {
    // Each once, because a duplicate would cause a second reconcile after the first.
    for (const text of new Set(keys.map(keyText))) {
      const { name: objectName, namespace } = parseKey(text);
      if (informers.of(kind, selection).get(objectName, namespace)) queue.add(text);
    }
  };

  const concerns = (object: Stored<KubeObject>) => definition.concerns?.(object) ?? true;
  const objects = () => informers.of(kind, selection).list();
  const enqueueAll = () => {
    for (const object of objects()) if (concerns(object)) enqueue(object.metadata);
  };

  /** The informer's copy of the object, where it will do. */
  const currentCopy = (text: string, { name: objectName, namespace }: Key): Stored<KubeObject> | undefined => {
    const isFirst = untouched.delete(text);
    const informer = informers.of(kind, selection);
    if (!(isFirst || fromCopies) || failed.has(text) || !informer.watching()) return undefined;
    const copy = informer.get(objectName, namespace);
    return copy?.metadata.deletionTimestamp === undefined ? copy : undefined;
  };

  const reconcile = async (text: string, { stopping: { signal }, blockers }: Run) => {
    const key = parseKey(text);
    const startedAt = clock.monotonic();
    const requestLog = log.child(key);
    let result: ReconcileResult = 'success';
    try {
      const object = currentCopy(text, key) ?? (await kube.get(kind, key.name, key.namespace));
      const outcome = await definition.reconcile({ ...key, object, signal, log: requestLog });
      queue.forget(text);
      failed.delete(text);
      blockers.set(text, outcome?.blockers ?? []);
      if (outcome?.requeueAfterMs !== undefined) {
        result = 'requeue_after';
        queue.addAfter(text, outcome.requeueAfterMs);
      }
    } catch (error) {
      const inMs = Math.round(queue.retry(text));
      failed.add(text);
      blockers.set(text, error instanceof ForeignObjectError ? [error.blocker] : []);
      // Conflicts and running deletions are normal and no failure.
      result = isExpected(error) ? 'requeue' : isRefusal(error) ? 'refused' : 'error';
      if (signal.aborted) requestLog.debug({ err: error }, 'reconcile interrupted');
      else if (result === 'refused') requestLog.warn({ err: error, retryInMs: inMs }, 'reconcile refused');
      else if (result === 'error') requestLog.error({ err: error, retryInMs: inMs }, 'reconcile failed');
      else requestLog.debug({ err: error, retryInMs: inMs }, 'reconcile retried');
    }
    metrics.observe(name, result, (clock.monotonic() - startedAt) / 1000);
  };

  const work = async (current: Run) => {
    for (;;) {
      const key = await queue.take();
      if (key === undefined) return;
      await reconcile(key, current);
      queue.done(key);
    }
  };

  const resync = async ({ stopping: { signal } }: Run) => {
    while (!signal.aborted) {
      const slept = await clock.sleep(resyncMs, signal).then(
        () => true,
        () => false,
      );
      if (!slept) return;
      for (const object of objects()) {
        // Spread over the interval, so that not all run at once.
        if (concerns(object)) queue.addAfter(keyText(object.metadata), Math.random() * resyncMs);
      }
    }
  };

  return {
    name,
    register() {
      informers.of(kind, selection).onChange(({ object, previous }) => {
        if (!concerns(object) && !(previous && concerns(previous))) return;
        // A changed spec resets the back-off of earlier failures.
        if (!previous || !isStatusOnly(object, previous)) queue.forget(keyText(object.metadata));
        enqueue(object.metadata);
      });
      for (const owned of owns) {
        informers.of(owned, managedSelection).onChange(({ object, previous }) => {
          const owners = [object, previous].flatMap((state) => {
            const owner = state && controllerOf(state);
            if (!owner || owner.kind !== kind.kind || owner.apiVersion !== kind.apiVersion) return [];
            const { namespace } = state.metadata;
            return { name: owner.name, ...(kind.namespaced && namespace !== undefined && { namespace }) };
          });
          enqueueExisting(owners);
        });
      }
      for (const watch of watches) {
        informers.of(watch.kind, watch.selection).onChange(({ type, object, previous }) => {
          if (watch.ignoreAdded && type === 'added') return;
          if (watch.ignoreStatus && type === 'modified' && previous && isStatusOnly(object, previous)) return;
          enqueueExisting([object, previous].flatMap((state) => (state ? watch.keysOf(state, objects) : [])));
        });
      }
      metrics.register(name, queue);
      registered = true;
    },
    registered: () => registered,
    start() {
      if (run) return;
      const stopping = new AbortController();
      const blockers = createBlockerWatch({ kube, clock, log, onCleared: (text) => queue.add(text) });
      const current: Run = { stopping, blockers, tasks: [] };
      run = current;
      queue.open();
      const informer = informers.of(kind, selection);
      untouched.clear();
      if (informer.lastSeenMs() <= currentMs)
        for (const object of informer.list()) if (concerns(object)) untouched.add(keyText(object.metadata));
      // Keys that the watches added before are not added twice.
      enqueueAll();
      current.tasks = [...Array.from({ length: workers }, () => work(current)), resync(current)];
      log.info({ workers }, 'controller started');
    },
    async stop() {
      run?.stopping.abort(new Error(`controller ${name} was stopped`));
      queue.close();
      await Promise.all(run?.tasks ?? []);
      await run?.blockers.stop();
      run = undefined;
    },
    enqueueAll,
    enqueue: (key) => enqueueExisting([key]),
  };
}

/** Whether two states of an object differ only in the status. */
function isStatusOnly(object: Stored<KubeObject>, previous: Stored<KubeObject>): boolean {
  const { generation, labels, annotations, ownerReferences, finalizers, deletionTimestamp, uid } = object.metadata;
  const current = { uid, generation, labels, annotations, ownerReferences, finalizers, deletionTimestamp };
  const before = previous.metadata;
  const same = Object.entries(current).every(([field, value]) =>
    isDeepStrictEqual(value, before[field as keyof typeof current]),
  );
  // Some kinds have no generation.
  return same && isDeepStrictEqual(object.spec, previous.spec);
}

function isExpected(error: unknown): boolean {
  if (isKubeError(error)) return error.status === 409 || error.reason === namespaceTerminating;
  return error instanceof NotYetError;
}

function keyText({ namespace, name }: Key): string {
  return `${namespace ?? ''}/${name}`;
}

function parseKey(text: string): Key {
  const slash = text.indexOf('/');
  const namespace = text.slice(0, slash);
  return { name: text.slice(slash + 1), ...(namespace !== '' && { namespace }) };
}
