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
import { createObstacleWatch } from './obstacle-watch.ts';
import type { Obstacle } from './obstacle.ts';

/**
 * Every key comes again about this often, whatever the watches said: for what no watch tells, such as a row that was lost.
 * A thousand workloads then cost less than a read per second.
 */
const defaultResyncMs = 3_600_000;
/** A pass mostly waits for the API server. */
const defaultWorkers = 16;
/** What the platform made, as a selection. */
export const managedSelection: Selection = { labelSelector: `${managedByLabel}=${managedByValue}` };

/** Names one object of a controller's kind. */
export interface Key {
  namespace?: string;
  name: string;
}

/** One pass over one object. */
export interface ReconcileRequest<T extends KubeObject> extends Key {
  /** Read for this pass, so that it never acts for an object that is gone; undefined when there is none. */
  object: Stored<T> | undefined;
  /** Aborted when the controller stops. */
  signal: AbortSignal;
  /** Carries the controller's name and the key. */
  log: Logger;
}

/** Another kind whose changes concern a controller's objects. */
export interface WatchDefinition {
  kind: ResourceKind;
  selection?: Selection;
  /** Only changes of spec, labels, owners and deletion count, and not what others report in the status. */
  ignoreStatus?: boolean;
  /** What is new concerns nobody: only what changes or goes does. */
  ignoreAdded?: boolean;
  /**
   * Called with the state after a change and with the one before it.
   * @param objects every object of the controller's own kind
   */
  keysOf(object: Stored<KubeObject>, objects: () => Stored<KubeObject>[]): Key[];
}

/** What a pass asks for. */
export interface ReconcileOutcome {
  requeueAfterMs?: number;
  /** What others have in the way of a part of it: the key comes again as soon as one of them changes. */
  obstacles?: readonly Obstacle[];
}

/** What one controller does. A pass may run at any time, any number of times, and never twice at once for one key. */
export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  name: string;
  kind: ResourceKind;
  /** Which objects of the kind; default all. */
  selection?: Selection;
  /** Kinds of children: a change of one brings its owner. Only those with the platform's label are seen. */
  owns?: readonly ResourceKind[];
  watches?: readonly WatchDefinition[];
  /** Keys worked on at the same time; default 16. */
  workers?: number;
  /**
   * Brings the world to what the object asks for. What it throws makes the key come again after its back-off; a
   * {@link ForeignObjectError} also as soon as the object in the way changes.
   */
  reconcile(request: ReconcileRequest<T>): Promise<ReconcileOutcome | void>;
}

export interface Controller {
  readonly name: string;
  /** Asks for the informers that it needs; before they start. */
  register(): void;
  registered(): boolean;
  /** Works from now on; the informers should have synced. */
  start(): void;
  /** Ends the passes under way and starts no more. */
  stop(): Promise<void>;
  /** Brings every object's key: something changed that all of them depend on. */
  enqueueAll(): void;
  /** Brings one object's key, if there is such an object: something changed that no watch tells of. */
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

/** The machine around a {@link ControllerDefinition}: watches, queue, workers, back-off, resync, metrics. */
export function createController(options: ControllerOptions): Controller {
  const { kube, definition, informers, metrics, clock, resyncMs = defaultResyncMs } = options;
  const { name, kind, selection, owns = [], watches = [], workers = defaultWorkers } = definition;
  const log = options.log.child({ controller: name });
  const queue = createKeyQueue(clock);
  const stopping = new AbortController();
  let tasks: Promise<void>[] = [];
  let registered = false;

  const enqueue = (key: Key) => queue.add(textOf(key));
  /** One that is not there yet comes by itself, and one that is gone came when it went. */
  const enqueueKnown = (keys: readonly Key[]) => {
    // Each once: the second of two would bring a pass after the one that the first began.
    for (const text of new Set(keys.map(textOf))) {
      const { name: known, namespace } = keyOf(text);
      if (informers.of(kind, selection).get(known, namespace)) queue.add(text);
    }
  };
  const obstacles = createObstacleWatch({ kube, clock, log, onCleared: (text) => queue.add(text) });

  const objects = () => informers.of(kind, selection).list();
  const enqueueAll = () => {
    for (const { metadata } of objects()) enqueue(metadata);
  };

  const pass = async (text: string) => {
    const key = keyOf(text);
    const begun = clock.monotonic();
    const requestLog = log.child(key);
    let result: ReconcileResult = 'success';
    try {
      const object = await kube.get(kind, key.name, key.namespace);
      const outcome = await definition.reconcile({ ...key, object, signal: stopping.signal, log: requestLog });
      queue.forget(text);
      obstacles.set(text, outcome?.obstacles ?? []);
      if (outcome?.requeueAfterMs !== undefined) {
        result = 'requeue_after';
        queue.addAfter(text, outcome.requeueAfterMs);
      }
    } catch (error) {
      const inMs = Math.round(queue.retry(text));
      obstacles.set(text, error instanceof ForeignObjectError ? [error.obstacle] : []);
      // Somebody else wrote first, or something is on its way: the order of things, and no fault.
      result = isPassing(error) ? 'requeue' : 'error';
      if (stopping.signal.aborted) requestLog.debug({ err: error }, 'reconcile interrupted');
      else if (result === 'error') requestLog.error({ err: error, retryInMs: inMs }, 'reconcile failed');
      else requestLog.debug({ err: error, retryInMs: inMs }, 'reconcile again');
    }
    metrics.observe(name, result, (clock.monotonic() - begun) / 1000);
  };

  const work = async () => {
    for (;;) {
      const key = await queue.take();
      if (key === undefined) return;
      await pass(key);
      queue.done(key);
    }
  };

  const resync = async () => {
    while (!stopping.signal.aborted) {
      const slept = await clock.sleep(resyncMs, stopping.signal).then(
        () => true,
        () => false,
      );
      if (!slept) return;
      for (const { metadata } of objects()) {
        // Over the whole time, so that many never come at once.
        queue.addAfter(textOf(metadata), Math.random() * resyncMs);
      }
    }
  };

  return {
    name,
    register() {
      informers.of(kind, selection).onChange(({ object, previous }) => {
        // Somebody asked for something else: what failed before says nothing about it.
        if (!previous || !isStatusOnly(object, previous)) queue.forget(textOf(object.metadata));
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
          enqueueKnown(owners);
        });
      }
      for (const watch of watches) {
        informers.of(watch.kind, watch.selection).onChange(({ type, object, previous }) => {
          if (watch.ignoreAdded && type === 'added') return;
          if (watch.ignoreStatus && type === 'modified' && previous && isStatusOnly(object, previous)) return;
          enqueueKnown([object, previous].flatMap((state) => (state ? watch.keysOf(state, objects) : [])));
        });
      }
      metrics.register(name, queue);
      registered = true;
    },
    registered: () => registered,
    start() {
      if (tasks.length > 0) return;
      // What the watches brought before is waiting already; this adds nothing twice.
      enqueueAll();
      tasks = [...Array.from({ length: workers }, work), resync()];
      log.info({ workers }, 'controller started');
    },
    async stop() {
      stopping.abort(new Error(`controller ${name} was stopped`));
      queue.close();
      await Promise.all(tasks);
      await obstacles.stop();
    },
    enqueueAll,
    enqueue: (key) => enqueueKnown([key]),
  };
}

/** Whether two states of one object differ in nothing that somebody asks for. */
function isStatusOnly(object: Stored<KubeObject>, previous: Stored<KubeObject>): boolean {
  const { generation, labels, annotations, ownerReferences, finalizers, deletionTimestamp, uid } = object.metadata;
  const asked = { uid, generation, labels, annotations, ownerReferences, finalizers, deletionTimestamp };
  const before = previous.metadata;
  const same = Object.entries(asked).every(([field, value]) =>
    isDeepStrictEqual(value, before[field as keyof typeof asked]),
  );
  // Some kinds of Kubernetes count no generations.
  return same && isDeepStrictEqual(object.spec, previous.spec);
}

function isPassing(error: unknown): boolean {
  if (isKubeError(error)) return error.status === 409 || error.reason === namespaceTerminating;
  return error instanceof NotYetError;
}

function textOf({ namespace, name }: Key): string {
  return `${namespace ?? ''}/${name}`;
}

function keyOf(text: string): Key {
  const slash = text.indexOf('/');
  const namespace = text.slice(0, slash);
  return { name: text.slice(slash + 1), ...(namespace !== '' && { namespace }) };
}
