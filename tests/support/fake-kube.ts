import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { KubeObject, ObjectMeta, ObjectRef, Stored } from '../../runtime/contracts/kubernetes.ts';
import { kinds, type ResourceKind } from '../../runtime/contracts/resources/kinds.ts';
import {
  KubeError,
  namespaceTerminating,
  type KubeClient,
  type Selection,
  type WatchEvent,
} from '../../runtime/kube/kube-client.ts';

/** One call as an interceptor sees it, before it takes effect. */
export interface FakeCall {
  verb: 'get' | 'list' | 'create' | 'replace' | 'replaceStatus' | 'mergePatch' | 'delete' | 'scale';
  kind: string;
  namespace: string | undefined;
  name: string | undefined;
}

export interface FakeKube extends KubeClient {
  /** Stores objects unchanged, including status and finalizers. */
  seed(...objects: KubeObject[]): void;
  /** All current objects of a kind. */
  all<T extends KubeObject>(kind: ResourceKind): Stored<T>[];
  /** Every call so far. */
  readonly calls: FakeCall[];
  /** Called before each call, which rejects with whatever this throws. */
  intercept: ((call: FakeCall) => void | Promise<void>) | undefined;
}

type Json = Record<string, unknown>;

const builtinStatusless = new Set(['Secret', 'ConfigMap', 'WorkloadName', 'HostName', 'Lease', 'Event']);
const notFound = (kind: string, name: string) => new KubeError(404, 'NotFound', `${kind} "${name}" not found`);
const conflict = (kind: string, name: string, why: string) =>
  new KubeError(409, 'Conflict', `Operation cannot be fulfilled on ${kind} "${name}": ${why}`);

/** With the group, since `batch` has Jobs too. */
const address = ({ apiVersion, kind }: { apiVersion: string; kind: string }, name: string, namespace?: string) =>
  `${apiVersion}/${kind}/${namespace ?? ''}/${name}`;
const keyOf = (object: KubeObject) => address(object, object.metadata.name, object.metadata.namespace);
const isOf = (object: KubeObject, kind: ResourceKind) =>
  object.kind === kind.kind && object.apiVersion === kind.apiVersion;
const copy = <T extends KubeObject>(object: KubeObject) => structuredClone(object) as Stored<T>;

/** RFC 7386. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? (target as Json) : {};
  const result: Json = { ...base };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}

const terms = (selector: string | undefined) => (selector ? selector.split(',') : []);

/** One term of a selector: `key=value`, `key!=value`, `key` or `!key`. */
function holds(values: Record<string, string | undefined>, term: string): boolean {
  const [, key = '', operator, value] = /^([^!=]+)(!=|==?)(.*)$/.exec(term) ?? [];
  if (operator === undefined) return term.startsWith('!') ? !(term.slice(1) in values) : term in values;
  return (values[key] === value) !== (operator === '!=');
}

function selects({ namespace, labelSelector, fieldSelector }: Selection, { metadata }: KubeObject): boolean {
  if (namespace !== undefined && namespace !== metadata.namespace) return false;
  const fields = { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace };
  return (
    terms(labelSelector).every((term) => holds(metadata.labels ?? {}, term)) &&
    terms(fieldSelector).every((term) => holds(fields, term))
  );
}

/** Answers `stream` with texts. */
export function saying(textOf: (path: string) => string | Promise<string>): KubeClient['stream'] {
  return async function* (path) {
    yield Buffer.from(await textOf(path));
  };
}

/**
 * A KubeClient over objects in memory that behaves as the API server does where the platform relies on it: conflicts of
 * create and replace, generations, the status subresource, preconditions, finalizers, merge patches, deletion of what
 * a deleted object owned, deletion of a namespace with its contents, and watches. With `checkNamespaces`, namespaced
 * objects need their Namespace; with `gracefulPods`, a deleted pod that runs on a node stays until it is deleted with no
 * grace; without `collectGarbage`, what a deleted object owned stays. `now` gives the times of creation and deletion, the machine's by default.
 */
export function fakeKube(
  options: { checkNamespaces?: boolean; gracefulPods?: boolean; collectGarbage?: boolean; now?: () => Date } = {},
): FakeKube {
  const { now = () => new Date() } = options;
  const store = new Map<string, Stored<KubeObject>>();
  const log: { version: number; type: 'ADDED' | 'MODIFIED' | 'DELETED'; object: Stored<KubeObject> }[] = [];
  const waiting = new Set<() => void>();
  const calls: FakeCall[] = [];
  let version = 1;

  /** metav1.Time carries whole seconds. */
  const stamp = () =>
    now()
      .toISOString()
      .replace(/\.\d{3}Z$/, 'Z');
  const emit = (type: 'ADDED' | 'MODIFIED' | 'DELETED', object: Stored<KubeObject>) => {
    log.push({ version, type, object: copy(object) });
    for (const wake of waiting) wake();
  };
  const enter = async (call: FakeCall) => {
    calls.push(call);
    await fake.intercept?.(call);
  };
  const put = (type: 'ADDED' | 'MODIFIED', object: KubeObject): Stored<KubeObject> => {
    version += 1;
    const stored = copy({ ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    store.set(keyOf(stored), stored);
    emit(type, stored);
    return stored;
  };
  const remove = (object: Stored<KubeObject>) => {
    version += 1;
    store.delete(keyOf(object));
    emit('DELETED', { ...object, metadata: { ...object.metadata, resourceVersion: String(version) } });
    const owned = [...(options.collectGarbage === false ? [] : store.values())].filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid),
    );
    for (const child of owned) {
      const rest = child.metadata.ownerReferences?.filter(({ uid }) => uid !== object.metadata.uid) ?? [];
      if (rest.length === 0) terminate(child);
    }
    const home = store.get(address(kinds.Namespace, object.metadata.namespace ?? ''));
    if (home?.metadata.deletionTimestamp !== undefined) terminate(home);
  };
  const contents = ({ kind, metadata }: Stored<KubeObject>) =>
    kind === kinds.Namespace.kind
      ? [...store.values()].filter((held) => held.metadata.namespace === metadata.name)
      : [];
  const terminate = (object: Stored<KubeObject>) => {
    const live = store.get(keyOf(object));
    if (!live) return;
    const held = contents(live);
    if (!live.metadata.finalizers?.length && held.length === 0) {
      remove(live);
      return;
    }
    if (live.metadata.deletionTimestamp !== undefined) return;
    put('MODIFIED', { ...live, metadata: { ...live.metadata, deletionTimestamp: stamp() } });
    for (const inside of held) terminate(inside);
  };
  /** Writes one part of an object; fields that the caller may not change are kept. */
  const write = (live: Stored<KubeObject>, next: KubeObject, part: 'main' | 'status'): Stored<KubeObject> => {
    const statusless = builtinStatusless.has(live.kind);
    const { uid, creationTimestamp, deletionTimestamp, generation = 1 } = live.metadata;
    const kept: ObjectMeta = { ...next.metadata, uid, resourceVersion: live.metadata.resourceVersion, generation };
    if (creationTimestamp !== undefined) kept.creationTimestamp = creationTimestamp;
    if (deletionTimestamp === undefined) delete kept.deletionTimestamp;
    else kept.deletionTimestamp = deletionTimestamp;
    const written: KubeObject =
      part === 'status'
        ? { ...live, status: next.status }
        : { ...next, metadata: kept, ...(!statusless && { status: live.status }) };
    if (written.status === undefined) delete written.status;
    if (isDeepStrictEqual(written, live)) return live;
    if (part === 'main' && !isDeepStrictEqual(written.spec, live.spec)) kept.generation = generation + 1;
    const stored = put('MODIFIED', written);
    if (deletionTimestamp !== undefined) terminate(stored);
    return stored;
  };
  const replacePart = async (object: Stored<KubeObject>, part: 'main' | 'status') => {
    const { kind, metadata } = object;
    const { name, namespace } = metadata;
    await enter({ verb: part === 'main' ? 'replace' : 'replaceStatus', kind, namespace, name });
    const live = store.get(keyOf(object));
    if (!live) throw notFound(kind, name);
    if (metadata.uid !== undefined && metadata.uid !== live.metadata.uid) throw conflict(kind, name, 'another UID');
    if (!metadata.resourceVersion) throw new KubeError(422, 'Invalid', 'metadata.resourceVersion must be specified');
    if (metadata.resourceVersion !== live.metadata.resourceVersion) {
      throw conflict(kind, name, 'the object has been modified');
    }
    return write(live, structuredClone(object), part);
  };

  const fake: FakeKube = {
    calls,
    intercept: undefined,
    seed(...objects) {
      for (const object of objects) {
        const metadata = { uid: randomUUID(), generation: 1, creationTimestamp: stamp(), ...object.metadata };
        put('ADDED', { ...object, metadata });
      }
    },
    all<T extends KubeObject>(kind: ResourceKind) {
      return [...store.values()].filter((object) => isOf(object, kind)).map((object) => copy<T>(object));
    },
    async get<T extends KubeObject>(kind: ResourceKind, name: string, namespace?: string) {
      await enter({ verb: 'get', kind: kind.kind, namespace, name });
      const live = store.get(address(kind, name, namespace));
      return live && copy<T>(live);
    },
    async list<T extends KubeObject>(kind: ResourceKind, selection: Selection = {}) {
      await enter({ verb: 'list', kind: kind.kind, namespace: selection.namespace, name: undefined });
      const items = fake
        .all<T>(kind)
        .filter((object) => selects(selection, object))
        .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
      return { items, resourceVersion: String(version) };
    },
    async create<T extends KubeObject>(object: T) {
      const { kind } = object;
      const { name, namespace } = object.metadata;
      await enter({ verb: 'create', kind, namespace, name });
      if (options.checkNamespaces && namespace !== undefined) {
        const home = store.get(address(kinds.Namespace, namespace));
        if (!home) throw notFound('namespaces', namespace);
        if (home.metadata.deletionTimestamp) {
          throw new KubeError(403, namespaceTerminating, `namespace ${namespace} is being terminated`);
        }
      }
      if (store.has(keyOf(object))) throw new KubeError(409, 'AlreadyExists', `${kind} "${name}" already exists`);
      const { status, ...rest } = structuredClone(object);
      const metadata = { ...object.metadata, uid: randomUUID(), generation: 1, creationTimestamp: stamp() };
      const statusless = builtinStatusless.has(kind);
      return copy<T>(put('ADDED', { ...rest, metadata, ...(statusless && status !== undefined && { status }) }));
    },
    async replace<T extends KubeObject>(object: Stored<T>) {
      return copy<T>(await replacePart(object, 'main'));
    },
    async replaceStatus<T extends KubeObject>(object: Stored<T>) {
      return copy<T>(await replacePart(object, 'status'));
    },
    async mergePatch<T extends KubeObject>(ref: ObjectRef, patch: object, subresource?: 'status') {
      await enter({ verb: 'mergePatch', kind: ref.kind, namespace: ref.namespace, name: ref.name });
      const live = store.get(address(ref, ref.name, ref.namespace));
      if (!live) throw notFound(ref.kind, ref.name);
      const patched = merge(live, structuredClone(patch)) as Stored<KubeObject>;
      if (patched.metadata.resourceVersion !== live.metadata.resourceVersion) {
        throw conflict(ref.kind, ref.name, 'the object has been modified');
      }
      return copy<T>(write(live, patched, subresource ?? 'main'));
    },
    async delete(ref, { preconditions = {}, gracePeriodSeconds } = {}) {
      await enter({ verb: 'delete', kind: ref.kind, namespace: ref.namespace, name: ref.name });
      const live = store.get(address(ref, ref.name, ref.namespace));
      if (!live) return false;
      if (preconditions.uid !== undefined && preconditions.uid !== live.metadata.uid) {
        throw conflict(ref.kind, ref.name, 'the UID in the precondition does not match');
      }
      if (preconditions.resourceVersion !== undefined) {
        if (preconditions.resourceVersion !== live.metadata.resourceVersion) {
          throw conflict(ref.kind, ref.name, 'the ResourceVersion in the precondition does not match');
        }
      }
      const ended = ['Succeeded', 'Failed'].includes((live.status as { phase?: string } | undefined)?.phase ?? '');
      const runs = (live.spec as { nodeName?: string } | undefined)?.nodeName !== undefined && !ended;
      if (options.gracefulPods && live.kind === 'Pod' && runs && gracePeriodSeconds !== 0) {
        const { terminationGracePeriodSeconds: grace = 30 } = live.spec as { terminationGracePeriodSeconds?: number };
        const deletion = { deletionTimestamp: stamp(), deletionGracePeriodSeconds: gracePeriodSeconds ?? grace };
        if (!live.metadata.deletionTimestamp) put('MODIFIED', { ...live, metadata: { ...live.metadata, ...deletion } });
        return true;
      }
      terminate(live);
      return true;
    },
    async getScale(namespace, name) {
      await enter({ verb: 'scale', kind: 'Deployment', namespace, name });
      const live = store.get(address(kinds.Deployment, name, namespace));
      if (!live) return undefined;
      const replicas = (live.spec as { replicas?: number } | undefined)?.replicas ?? 1;
      const currentReplicas = (live.status as { replicas?: number } | undefined)?.replicas ?? 0;
      return { namespace, name, resourceVersion: live.metadata.resourceVersion, replicas, currentReplicas };
    },
    async replaceScale({ namespace, name, resourceVersion }, replicas) {
      await enter({ verb: 'scale', kind: 'Deployment', namespace, name });
      const live = store.get(address(kinds.Deployment, name, namespace));
      if (!live) throw notFound('Deployment', name);
      if (resourceVersion !== live.metadata.resourceVersion) {
        throw conflict('Deployment', name, 'the object has been modified');
      }
      write(live, { ...live, spec: { ...(live.spec as Json), replicas } }, 'main');
    },
    async *watch<T extends KubeObject>(
      kind: ResourceKind,
      selection: Selection & { resourceVersion: string },
      signal: AbortSignal,
      onOpen?: () => void,
    ): AsyncIterable<WatchEvent<T>> {
      onOpen?.();
      let sentVersion = Number(selection.resourceVersion);
      while (!signal.aborted) {
        const due = log.filter((entry) => entry.version > sentVersion);
        for (const { type, object, version: at } of due) {
          sentVersion = at;
          if (isOf(object, kind) && selects(selection, object)) yield { type, object: copy<T>(object) };
        }
        if (log.some((entry) => entry.version > sentVersion)) continue;
        await new Promise<void>((resolve) => {
          const wake = () => {
            waiting.delete(wake);
            signal.removeEventListener('abort', wake);
            resolve();
          };
          waiting.add(wake);
          signal.addEventListener('abort', wake, { once: true });
          if (signal.aborted) wake();
        });
      }
    },
    // oxlint-disable-next-line require-yield -- it only refuses
    stream: async function* (path) {
      throw new KubeError(404, 'NotFound', `the server could not find ${path}`);
    },
  };
  return fake;
}
