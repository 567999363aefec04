import type { Logger } from 'pino';
import type { KubeObject, Stored } from '../contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../contracts/resources/kinds.ts';
import type { Clock } from '../domain/clock.ts';
import { idLabel } from '../domain/labels.ts';
import { createInformer, type Informer } from './informer.ts';
import type { KubeClient, ObjectReader, Selection } from './kube-client.ts';

/**
 * A copy is not read when nothing was heard of its kind for this long, in ms: the API server sends a bookmark about once a
 * minute. A watch that ends is noticed at once, and one whose peer is gone within 40 s (TCP keep-alive).
 */
const currentMs = 90_000;
/** Default size of all copies, as JSON, in bytes; in memory they take about three times as much. */
const defaultMaxBytes = 32 * 2 ** 20;

/** Always kept with their content: they are small, and every request reads them. */
const wholeKinds = { Project: kinds.Project, PlatformConfig: kinds.PlatformConfig };
/** The kinds of objects in environments. */
const objectKinds = {
  App: kinds.App,
  Function: kinds.Function,
  Job: kinds.Job,
  Service: kinds.ServiceResource,
  Volume: kinds.Volume,
};

/** The kinds of which there are copies. */
export type CopiedKind = keyof typeof wholeKinds | keyof typeof objectKinds;

/**
 * Copies of the platform's objects that one watch per kind keeps. `get` and `list` answer from them while they are current,
 * and by a request to the API server otherwise: before the first list, while a watch is interrupted or silent, for an object
 * that a copy does not have, and for what the limit of memory left out. The objects are frozen, since all callers share them.
 */
export interface ObjectCopies extends ObjectReader {
  /** The watch of a kind. Its objects may be without their content, except Projects and the PlatformConfig. */
  informer<T extends KubeObject>(kind: CopiedKind): Informer<T>;
  /** Starts the watches. */
  start(): void;
  /** Resolves once every kind is listed. */
  whenSynced(): Promise<void>;
  stop(): Promise<void>;
}

export interface ObjectCopiesOptions {
  kube: Pick<KubeClient, 'get' | 'list' | 'watch'>;
  clock: Clock;
  log: Logger;
  /** Maximum size of the copies, as JSON; beyond it, only the metadata of objects is kept. Default 32 MiB. */
  maxBytes?: number;
}

/** The copy of one kind. */
interface Copy {
  informer: Informer<KubeObject>;
  /** Namespace → name → object. */
  namespaces: Map<string, Map<string, Stored<KubeObject>>>;
}

/** Creates the copies; call {@link ObjectCopies.start}. */
export function createObjectCopies({
  kube,
  clock,
  log,
  maxBytes = defaultMaxBytes,
}: ObjectCopiesOptions): ObjectCopies {
  const sizes = createSizes(maxBytes);
  const copies = new Map<string, Copy>();
  for (const [kind, resource] of Object.entries({ ...wholeKinds, ...objectKinds })) {
    const source = limitedSource(kube, sizes, { whole: kind in wholeKinds, current: () => informer });
    const informer: Informer<KubeObject> = createInformer({ kube: source, kind: resource, clock, log });
    const copy: Copy = { informer, namespaces: new Map() };
    informer.onChange(({ type, object, previous }) => {
      const { name, namespace = '' } = object.metadata;
      const objects = copy.namespaces.get(namespace) ?? new Map<string, Stored<KubeObject>>();
      if (type === 'deleted') objects.delete(name);
      else objects.set(name, object);
      if (objects.size === 0) copy.namespaces.delete(namespace);
      else copy.namespaces.set(namespace, objects);
      sizes.replaced(previous, type === 'deleted' ? undefined : object);
    });
    copies.set(kind, copy);
  }
  const all = [...copies.values()];

  const currentCopy = ({ apiVersion, kind }: ResourceKind): Copy | undefined => {
    const copy = copies.get(kind);
    if (copy?.informer.kind.apiVersion !== apiVersion) return undefined;
    return copy.informer.watching() && copy.informer.lastSeenMs() <= currentMs ? copy : undefined;
  };

  return {
    async get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) {
      const object = currentCopy(kind)
        ?.namespaces.get(namespace ?? '')
        ?.get(name);
      if (object && !sizes.isReduced(object)) return object as Stored<T>;
      return kube.get<T>(kind, name, namespace);
    },
    async list<T extends KubeObject>(kind: ResourceKind, selection: Selection = {}) {
      const { namespace, labelSelector, fieldSelector } = selection;
      const copy = labelSelector === undefined && fieldSelector === undefined ? currentCopy(kind) : undefined;
      const resourceVersion = copy?.informer.version();
      if (!copy || resourceVersion === undefined) return kube.list<T>(kind, selection);
      const items =
        namespace === undefined ? copy.informer.list() : [...(copy.namespaces.get(namespace)?.values() ?? [])];
      if (items.some((item) => sizes.isReduced(item))) return kube.list<T>(kind, selection);
      return { items: items as Stored<T>[], resourceVersion };
    },
    informer<T extends KubeObject>(kind: CopiedKind) {
      const copy = copies.get(kind);
      if (!copy) throw new Error(`there is no copy of ${kind}`);
      return copy.informer as unknown as Informer<T>;
    },
    start() {
      for (const { informer } of all) informer.start();
    },
    async whenSynced() {
      await Promise.all(all.map(({ informer }) => informer.whenSynced()));
    },
    async stop() {
      await Promise.all(all.map(({ informer }) => informer.stop()));
    },
  };
}

/** Counts the bytes of all copies. */
function createSizes(maxBytes: number) {
  const sizes = new WeakMap<object, number>();
  const reduced = new WeakSet();
  let total = 0;
  const sizeOf = (object: object | undefined) => (object && sizes.get(object)) ?? 0;
  return {
    isReduced: (object: object) => reduced.has(object),
    sizeOf,
    replaced(previous: object | undefined, object: object | undefined) {
      total += sizeOf(object) - sizeOf(previous);
    },
    total: () => total,
    /** The copy of the object in memory. @param others the bytes of all other objects */
    keep<T extends KubeObject>(object: Stored<T>, others: number, whole: boolean): Stored<T> {
      const size = JSON.stringify(object).length;
      const fits = whole || others + size <= maxBytes;
      const copy = deepFreeze(fits ? object : metadataOf(object));
      sizes.set(copy, fits ? size : JSON.stringify(copy).length);
      if (!fits) reduced.add(copy);
      return copy;
    },
  };
}

/** A source of objects in the form in which they are kept. @param options.current the informer that keeps them */
function limitedSource(
  kube: Pick<KubeClient, 'list' | 'watch'>,
  sizes: ReturnType<typeof createSizes>,
  { whole, current }: { whole: boolean; current: () => Informer<KubeObject> },
): Pick<KubeClient, 'list' | 'watch'> {
  const previousOf = ({ metadata }: KubeObject) => current().get(metadata.name, metadata.namespace);
  return {
    async list<T extends KubeObject>(...request: Parameters<KubeClient['list']>) {
      const { items, resourceVersion } = await kube.list<T>(...request);
      // The list replaces the objects of the kind.
      let others = sizes.total();
      for (const object of current().list()) others -= sizes.sizeOf(object);
      const copies = items.map((item) => {
        const previous = previousOf(item);
        const isSame = previous?.metadata.resourceVersion === item.metadata.resourceVersion;
        const object = isSame ? (previous as Stored<T>) : sizes.keep(item, others, whole);
        others += sizes.sizeOf(object);
        return object;
      });
      return { items: copies, resourceVersion };
    },
    async *watch<T extends KubeObject>(...request: Parameters<KubeClient['watch']>) {
      for await (const { type, object } of kube.watch<T>(...request)) {
        if (type === 'BOOKMARK') yield { type, object };
        else yield { type, object: sizes.keep(object, sizes.total() - sizes.sizeOf(previousOf(object)), whole) };
      }
    },
  };
}

/** An object without its content, which is most of its memory. */
function metadataOf<T extends KubeObject>({ apiVersion, kind, metadata }: Stored<T>): Stored<T> {
  const { name, namespace, uid, resourceVersion, labels } = metadata;
  const id = labels?.[idLabel];
  const identity = { name, namespace, uid, resourceVersion, ...(id !== undefined && { labels: { [idLabel]: id } }) };
  return { apiVersion, kind, metadata: identity } as unknown as Stored<T>;
}

function deepFreeze<T extends object>(object: T): T {
  for (const value of Object.values(object) as unknown[]) {
    if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) deepFreeze(value);
  }
  return Object.freeze(object);
}
