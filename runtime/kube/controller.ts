import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import type { ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { managedByLabel, managedByValue } from '../domain/labels.ts';
import { controllerOf, NotYetError } from './children.ts';
import type { ControllerMetrics, ReconcileResult } from './controller-metrics.ts';
import type { Informers } from './informers.ts';
import { isKubeError, namespaceTerminating, type KubeClient, type Selection } from './kube-client.ts';
import { createKeyQueue } from './key-queue.ts';

/** Every key comes again after about this long, whatever the watches said. */
const defaultResyncMs = 600_000;
const defaultWorkers = 4;
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
  /**
   * Called with the state after a change and with the one before it.
   * @param objects every object of the controller's own kind
   */
  keysOf(object: Stored<KubeObject>, objects: () => Stored<KubeObject>[]): Key[];
}

/** What one controller does. A pass may run at any time, any number of times, and never twice at once for one key. */
export interface ControllerDefinition<T extends KubeObject = KubeObject> {
  name: string;
  kind: ResourceKind;
  /** Kinds of children: a change of one brings its owner. Only those with the platform's label are seen. */
  owns?: readonly ResourceKind[];
  watches?: readonly WatchDefinition[];
  /** Keys worked on at the same time; default 4. */
  workers?: number;
  /** Brings the world to what the object asks for. What it throws makes the key come again after its back-off. */
  reconcile(request: ReconcileRequest<T>): Promise<{ requeueAfterMs?: number } | void>;
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
}

export interface ControllerOptions {
  kube: Pick<KubeClient, 'get'>;
  definition: ControllerDefinition;
  informers: Informers;
  metrics: ControllerMetrics;
  clock: Clock;
  log: Logger;
  /** Default 600,000, with jitter. */
  resyncMs?: number;
}

/** The machine around a {@link ControllerDefinition}: watches, queue, workers, back-off, resync, metrics. */
export function createController(options: ControllerOptions): Controller {
  const { kube, definition, informers, metrics, clock, resyncMs = defaultResyncMs } = options;
  const { name, kind, owns = [], watches = [], workers = defaultWorkers } = definition;
  const log = options.log.child({ controller: name });
  const queue = createKeyQueue(clock);
  const stopping = new AbortController();
  let tasks: Promise<void>[] = [];
  let registered = false;

  const enqueue = (key: Key) => queue.add(textOf(key));

  const objects = () => informers.of(kind).list();
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
      if (outcome?.requeueAfterMs !== undefined) {
        result = 'requeue_after';
        queue.addAfter(text, outcome.requeueAfterMs);
      }
    } catch (error) {
      const inMs = Math.round(queue.retry(text));
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
      const slept = await clock.sleep(resyncMs * (0.8 + 0.4 * Math.random()), stopping.signal).then(
        () => true,
        () => false,
      );
      if (!slept) return;
      for (const { metadata } of objects()) {
        queue.addAfter(textOf(metadata), Math.random() * resyncMs * 0.1);
      }
    }
  };

  return {
    name,
    register() {
      informers.of(kind).onChange(({ object }) => enqueue(object.metadata));
      for (const owned of owns) {
        informers.of(owned, managedSelection).onChange(({ object, previous }) => {
          for (const state of [object, previous]) {
            const owner = state && controllerOf(state);
            if (!owner || owner.kind !== kind.kind || owner.apiVersion !== kind.apiVersion) continue;
            const { namespace } = state.metadata;
            enqueue({ name: owner.name, ...(kind.namespaced && namespace !== undefined && { namespace }) });
          }
        });
      }
      for (const watch of watches) {
        informers.of(watch.kind, watch.selection).onChange(({ object, previous }) => {
          const keys = [object, previous].flatMap((state) => (state ? watch.keysOf(state, objects) : []));
          for (const key of keys) enqueue(key);
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
    },
    enqueueAll,
  };
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
