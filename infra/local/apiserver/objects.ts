import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { alreadyExists, badRequest, conflict, invalid, notFound, unexpected, unversioned } from './api-error.ts';
import { invalidValue } from './causes.ts';
import { decode } from './decode.ts';
import { checkPreconditions, isHeld, isReleased, markedForDeletion, type DeleteOptions } from './deletion.ts';
import { valueAt } from './json.ts';
import { checkMetadata, identify, keepIdentity } from './metadata.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';
import { validate } from './schema.ts';
import type { Store } from './store.ts';

/** How a write is to be taken. */
export interface WriteOptions {
  /** Whether unknown fields are refused, as kubectl asks for it; else they are dropped. */
  strict?: boolean;
  /** Everything but the write itself. */
  dryRun?: boolean;
}

/** Where an object is. */
export interface Place {
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

/** What the server adds to a new object and asks of it; may change it. @throws ApiError when it is refused */
export type Admission = (object: ApiObject, resource: Resource) => void;

/** Create, replace and delete as they are for every kind. Each call is one step: nothing comes in between. */
export interface Objects {
  /** @throws ApiError 404 */
  get(place: Place): ApiObject;
  create(resource: Resource, namespace: string | undefined, body: unknown, options?: WriteOptions): ApiObject;
  /**
   * Replaces an object by what `change` makes of it; `status` replaces that part only.
   * @throws ApiError 404, 409 for another version or uid, 422
   */
  update(
    place: Place,
    change: (live: ApiObject) => unknown,
    part: 'main' | 'status',
    options?: WriteOptions,
  ): ApiObject;
  /** @returns the object, and whether it is gone: finalizers, or a pod's grace period, may keep it for a while */
  delete(place: Place, options?: DeleteOptions): { object: ApiObject; gone: boolean };
  /** Removes an object whose finalizers are gone and whose time has come. */
  finish(resource: Resource, object: ApiObject): void;
}

const modified = 'the object has been modified; please apply your changes to the latest version and try again';

export function createObjects(options: { store: Store; clock: Clock; admit: Admission }): Objects {
  const { store, clock, admit } = options;

  const find = ({ resource, namespace, name }: Place): ApiObject => {
    const live = store.get(storageOf(resource), namespace, name);
    if (!live) throw notFound(resource, name);
    return live;
  };
  const check = (object: ApiObject, resource: Resource, old: ApiObject | undefined) => {
    const fixed = old ? (resource.immutable ?? []) : [];
    const causes = [
      ...checkMetadata(object, resource, old),
      ...(resource.custom ? validate(object, resource.schema, old) : []),
      ...(resource.validate?.(object, old) ?? []),
      ...fixed
        .filter((path) => !isDeepStrictEqual(valueAt(object, path), valueAt(old, path)))
        .map((path) => invalidValue(path, valueAt(object, path), 'field is immutable')),
    ];
    if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
  };
  const put = (resource: Resource, object: ApiObject, dryRun = false): ApiObject =>
    dryRun ? object : store.put(storageOf(resource), object);
  const remove = (resource: Resource, object: ApiObject, dryRun = false): ApiObject => {
    if (!dryRun) store.remove(storageOf(resource), object);
    return object;
  };

  return {
    get: find,

    create(resource, namespace, body, writing = {}) {
      const object = decode(body, resource, writing.strict);
      const { metadata } = object;
      placeInto(metadata, resource, namespace);
      if (metadata.resourceVersion) throw unexpected('resourceVersion should not be set on objects to be created');
      identify(object, resource, clock.now());
      if (resource.status && resource.custom) delete object.status;
      admit(object, resource);
      check(object, resource, undefined);
      resource.prepareCreate?.(object, clock.now());
      if (store.get(storageOf(resource), namespace, metadata.name)) throw alreadyExists(resource, metadata.name);
      return put(resource, object, writing.dryRun);
    },

    update(place, change, part, writing = {}) {
      const { resource, namespace, name } = place;
      const live = find(place);
      const next = decode(change(live), resource, writing.strict);
      next.metadata.name ||= name;
      if (next.metadata.name !== name) {
        throw badRequest(`the name of the object (${next.metadata.name}) does not match the name on the URL (${name})`);
      }
      placeInto(next.metadata, resource, namespace);
      checkVersion(next, live, resource);
      keepIdentity(next, live);
      const isMain = part === 'main';
      const status = isMain && resource.status ? live.status : (next.status ?? live.status);
      const merged = withStatus(isMain ? next : live, status);
      if (isMain) resource.prepareUpdate?.(merged, live);
      check(merged, resource, live);
      if (isDeepStrictEqual(merged, live)) return live;
      const { generation = 0 } = live.metadata;
      if (isMain && resource.generation && !isDeepStrictEqual(wanted(merged), wanted(live))) {
        merged.metadata = { ...merged.metadata, generation: generation + 1 };
      }
      return (isReleased(merged) ? remove : put)(resource, merged, writing.dryRun);
    },

    delete(place, deleting = {}) {
      const { resource } = place;
      const { dryRun } = deleting;
      const live = find(place);
      checkPreconditions(live, resource, deleting.preconditions);
      const marked = markedForDeletion(live, deleting, clock.now());
      if (!isHeld(marked)) return { object: remove(resource, live, dryRun), gone: true };
      return { object: isDeepStrictEqual(marked, live) ? live : put(resource, marked, dryRun), gone: false };
    },

    finish: remove,
  };
}

function placeInto(metadata: ApiObject['metadata'], resource: Resource, namespace: string | undefined): void {
  if (resource.namespaced && (metadata.namespace ?? namespace) !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (resource.namespaced && namespace !== undefined) metadata.namespace = namespace;
  else delete metadata.namespace;
}

function checkVersion(next: ApiObject, live: ApiObject, resource: Resource): void {
  const { uid, resourceVersion } = next.metadata;
  const { name } = live.metadata;
  if (uid !== undefined && uid !== live.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
    throw conflict(resource, name, why);
  }
  if (!resourceVersion && !resource.unconditionalUpdate) throw unversioned(resource, name);
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion) throw conflict(resource, name, modified);
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

/** What a change of counts as another generation: everything but metadata and status. */
function wanted(object: ApiObject): object {
  return { ...object, metadata: undefined, status: undefined };
}
