import { setImmediate as nextTurn } from 'node:timers/promises';
import type { KubeObject, ObjectRef, Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../../runtime/contracts/resources/kinds.ts';
import {
  isKubeError,
  KubeError,
  type KubeClient,
  type Selection,
  type WatchEvent,
} from '../../../runtime/kube/kube-client.ts';
import { objectPath, resourceOf } from '../../../runtime/kube/resource-paths.ts';
import { kubeErrorOf } from '../../../runtime/kube/transport.ts';
import { ApiError, noSuchResource } from './api-error.ts';
import { valueAt } from './json.ts';
import type { Objects, Place } from './objects.ts';
import type { Registry } from './registry.ts';
import type { ApiObject, Resource } from './resource.ts';
import { applyPatch } from './rest.ts';
import { scale } from './scale.ts';
import { selectedObjects, selectionOf, type Selection as StoredSelection } from './selector.ts';
import { textOf, type Store } from './store.ts';
import { eventsOf, eventsSince, type Event } from './watch.ts';

/**
 * The administrator's client in the server's own process: the same results and errors as over HTTP, without its cost
 * (docs/decisions/0101-a-client-in-the-process.md). Each call waits for a turn of the event loop, so that many of them do
 * not keep the requests of other processes waiting. It streams no logs and reviews no tokens.
 */
export function createLocalClient(options: { store: Store; objects: Objects; registry: Registry }): KubeClient {
  const { store, objects, registry } = options;

  const find = ({ apiVersion, plural }: ResourceKind): Resource => {
    const [group = '', version = ''] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
    const resource = registry.find(group, version, plural);
    if (!resource) throw noSuchResource();
    return resource;
  };
  /** @throws Error, KubeError 404 for a name or namespace that no object can have */
  const placeOf = (kind: ResourceKind, name: string, namespace: string | undefined): Place => {
    objectPath(kind, name, namespace);
    return { resource: find(kind), namespace: kind.namespaced ? namespace : undefined, name };
  };
  const refPlace = (ref: ObjectRef) => placeOf(resourceOf(ref), ref.name, ref.namespace);
  const select = (kind: ResourceKind, { namespace, labelSelector = '', fieldSelector = '' }: Selection) =>
    selectionOf(find(kind), namespace, new URLSearchParams({ labelSelector, fieldSelector }));
  const replace = (object: Stored<KubeObject>, part: 'main' | 'status') => {
    const { name, namespace } = object.metadata;
    const place = placeOf(resourceOf(object), name, namespace);
    return objects.update(place, () => copyOf(object), part);
  };

  return {
    async get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) {
      return unlessMissing(() => read<T>(objects.get(placeOf(kind, name, namespace))));
    },
    async list<T extends KubeObject>(kind: ResourceKind, selection: Selection = {}) {
      return inTurn(() => {
        const items = selectedObjects(store, select(kind, selection)).map((object) => read<T>(object));
        return { items, resourceVersion: String(store.version) };
      });
    },
    async create<T extends KubeObject>(object: T) {
      return inTurn(() => {
        const kind = resourceOf(object);
        const namespace = kind.namespaced ? object.metadata.namespace : undefined;
        return read<T>(objects.create(find(kind), namespace, copyOf(object)));
      });
    },
    async replace<T extends KubeObject>(object: Stored<T>) {
      return inTurn(() => read<T>(replace(object, 'main')));
    },
    async replaceStatus<T extends KubeObject>(object: Stored<T>) {
      return inTurn(() => read<T>(replace(object, 'status')));
    },
    async mergePatch<T extends KubeObject>(ref: ObjectRef, patch: object, subresource?: 'status') {
      return inTurn(() => {
        const place = refPlace(ref);
        const change = (live: ApiObject) => applyPatch(live, copyOf(patch), place.resource);
        return read<T>(objects.update(place, change, subresource ?? 'main'));
      });
    },
    async delete(ref, { propagationPolicy = 'Background', ...deleting } = {}) {
      const remove = () => objects.delete(refPlace(ref), { propagationPolicy, ...deleting });
      return (await unlessMissing(remove)) !== undefined;
    },
    async getScale(namespace, name) {
      return unlessMissing(() => {
        const { metadata, spec, status } = scale.read(objects.get(placeOf(kinds.Deployment, name, namespace)));
        return {
          namespace,
          name,
          resourceVersion: metadata.resourceVersion ?? '',
          replicas: Number(valueAt(spec, 'replicas') ?? 0),
          currentReplicas: Number(valueAt(status, 'replicas') ?? 0),
        };
      });
    },
    async replaceScale({ namespace, name, resourceVersion }, replicas) {
      await inTurn(() => {
        const body = { metadata: { namespace, name, resourceVersion }, spec: { replicas } };
        objects.update(placeOf(kinds.Deployment, name, namespace), (live) => scale.write(live, body), scale.part);
      });
    },
    async *watch<T extends KubeObject>(
      kind: ResourceKind,
      { resourceVersion, ...selection }: Selection & { resourceVersion: string },
      signal: AbortSignal,
      onOpen?: () => void,
    ): AsyncIterable<WatchEvent<T>> {
      const selected = await inTurn(() => select(kind, selection));
      signal.throwIfAborted();
      const events = follow(store, selected, Number(resourceVersion) || undefined, signal);
      onOpen?.();
      for await (const { type, object } of events) yield { type, object: read<T>(object) };
    },
    stream() {
      throw new KubeError(501, 'NotImplemented', 'the client in the process of the API server streams no logs');
    },
  };
}

/** The caller's own copy of a stored object. */
function read<T extends KubeObject>(object: ApiObject): Stored<T> {
  return JSON.parse(textOf(object)) as Stored<T>;
}

/** The store's own copy of what a caller writes: as JSON, without undefined fields. */
function copyOf(body: object): unknown {
  return JSON.parse(JSON.stringify(body)) as unknown;
}

/** The result of a step in a turn of its own. @throws KubeError as over HTTP */
async function inTurn<R>(step: () => R): Promise<R> {
  await nextTurn();
  try {
    return step();
  } catch (error) {
    if (error instanceof ApiError) throw kubeErrorOf(error.status.code ?? 500, error.status);
    throw error;
  }
}

/** Like {@link inTurn}; undefined for an object that does not exist. */
async function unlessMissing<R>(step: () => R): Promise<R | undefined> {
  try {
    return await inTurn(step);
  } catch (error) {
    if (isKubeError(error, 404)) return undefined;
    throw error;
  }
}

/** The events of a selection after a version, until the signal aborts. @throws KubeError 410 */
async function* follow(
  store: Store,
  selection: StoredSelection,
  since: number | undefined,
  signal: AbortSignal,
): AsyncGenerator<Event> {
  const first = eventsSince(store, selection, since);
  if (!first) throw new KubeError(410, 'Expired', `too old resource version: ${since} (${store.version})`);
  let events = first;
  let arrived = Promise.withResolvers<void>();
  const unsubscribe = store.subscribe(selection.storage, (change) => {
    events.push(...eventsOf(change, selection.test));
    arrived.resolve();
  });
  const onAbort = () => arrived.resolve();
  signal.addEventListener('abort', onAbort);
  try {
    for (;;) {
      const batch = events;
      events = [];
      arrived = Promise.withResolvers();
      yield* batch;
      signal.throwIfAborted();
      if (events.length === 0) await arrived.promise;
      signal.throwIfAborted();
    }
  } finally {
    unsubscribe();
    signal.removeEventListener('abort', onAbort);
  }
}
