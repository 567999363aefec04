import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../runtime/domain/clock.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  notFound,
  internalError,
  missingResourceVersion,
} from './api-error.ts';
import { invalidValue } from './causes.ts';
import { decode } from './decode.ts';
import { checkPreconditions, mustStay, canBeRemoved, markForDeletion, type DeleteOptions } from './deletion.ts';
import { valueAt } from './json.ts';
import { checkMetadata, assignIdentity, preserveServerFields } from './metadata.ts';
import { storageOf, type ApiObject, type Resource } from './resource.ts';
import { validate } from './schema.ts';
import type { Store } from './store.ts';

/** Options of a write. */
export interface WriteOptions {
  /** Refuses unknown fields, as kubectl requests it; otherwise they are dropped. */
  strict?: boolean;
  /** Checks everything, but does not write. */
  dryRun?: boolean;
}

/** Identifies an object. */
export interface Place {
  resource: Resource;
  namespace: string | undefined;
  name: string;
}

/** Checks a new object and may change it. @throws ApiError when the object is refused */
export type Admission = (object: ApiObject, resource: Resource) => void;

/**
 * Reads and writes objects of any kind. Each call is one synchronous step, so that no other write can come between
 * check and write.
 */
export interface Objects {
  /** @throws ApiError 404 */
  get(place: Place): ApiObject;
  create(resource: Resource, namespace: string | undefined, body: unknown, options?: WriteOptions): ApiObject;
  /**
   * Replaces an object by the result of `change`; `status` replaces only the status.
   * @throws ApiError 404, 409 for another version or uid, 422
   */
  update(
    place: Place,
    change: (live: ApiObject) => unknown,
    part: 'main' | 'status',
    options?: WriteOptions,
  ): ApiObject;
  /** @returns the object, and whether it was removed; finalizers, content or a pod's grace period may delay that */
  delete(place: Place, options?: DeleteOptions): { object: ApiObject; gone: boolean };
  /** Removes an object that has no finalizers and no grace period left. */
  finish(resource: Resource, object: ApiObject): void;
}

const modifiedMessage = 'the object has been modified; please apply your changes to the latest version and try again';

export function createObjects(options: { store: Store; clock: Clock; admit: Admission }): Objects {
  const { store, clock, admit } = options;

  const findLive = ({ resource, namespace, name }: Place): ApiObject => {
    const live = store.get(storageOf(resource), namespace, name);
    if (!live) throw notFound(resource, name);
    return live;
  };
  const check = (object: ApiObject, resource: Resource, old: ApiObject | undefined) => {
    const immutablePaths = old ? (resource.immutable ?? []) : [];
    const causes = [
      ...checkMetadata(object, resource, old),
      ...(resource.custom ? validate(object, resource.schema, old) : []),
      ...(resource.validate?.(object, old) ?? []),
      ...immutablePaths
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
    get: findLive,

    create(resource, namespace, body, writing = {}) {
      const object = decode(body, resource, writing.strict);
      const { metadata } = object;
      setNamespace(metadata, resource, namespace);
      if (metadata.resourceVersion) throw internalError('resourceVersion should not be set on objects to be created');
      assignIdentity(object, resource, clock.now());
      if (resource.status && resource.custom) delete object.status;
      admit(object, resource);
      check(object, resource, undefined);
      resource.prepareCreate?.(object, clock.now());
      if (store.get(storageOf(resource), namespace, metadata.name)) throw alreadyExists(resource, metadata.name);
      return put(resource, object, writing.dryRun);
    },

    update(place, change, part, writing = {}) {
      const { resource, namespace, name } = place;
      const live = findLive(place);
      const next = decode(change(live), resource, writing.strict);
      next.metadata.name ||= name;
      if (next.metadata.name !== name) {
        throw badRequest(`the name of the object (${next.metadata.name}) does not match the name on the URL (${name})`);
      }
      setNamespace(next.metadata, resource, namespace);
      checkVersion(next, live, resource);
      preserveServerFields(next, live);
      const isMain = part === 'main';
      const status = isMain && resource.status ? live.status : (next.status ?? live.status);
      const merged = withStatus(isMain ? next : live, status);
      if (isMain) resource.prepareUpdate?.(merged, live);
      check(merged, resource, live);
      if (isDeepStrictEqual(merged, live)) return live;
      const { generation = 0 } = live.metadata;
      if (isMain && resource.generation && !isDeepStrictEqual(desiredState(merged), desiredState(live))) {
        merged.metadata = { ...merged.metadata, generation: generation + 1 };
      }
      return (canBeRemoved(merged) ? remove : put)(resource, merged, writing.dryRun);
    },

    delete(place, deleting = {}) {
      const { resource } = place;
      const { dryRun } = deleting;
      const live = findLive(place);
      checkPreconditions(live, resource, deleting.preconditions);
      const marked = markForDeletion(live, deleting, clock.now());
      if (!mustStay(marked)) return { object: remove(resource, live, dryRun), gone: true };
      return { object: isDeepStrictEqual(marked, live) ? live : put(resource, marked, dryRun), gone: false };
    },

    finish: remove,
  };
}

function setNamespace(metadata: ApiObject['metadata'], resource: Resource, namespace: string | undefined): void {
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
    const reason = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
    throw conflict(resource, name, reason);
  }
  if (!resourceVersion && !resource.unconditionalUpdate) throw missingResourceVersion(resource, name);
  if (resourceVersion && resourceVersion !== live.metadata.resourceVersion)
    throw conflict(resource, name, modifiedMessage);
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _, ...rest } = object;
  return status === undefined ? rest : { ...rest, status };
}

/** The part of an object that raises its generation when it changes: everything but metadata and status. */
function desiredState(object: ApiObject): object {
  return { ...object, metadata: undefined, status: undefined };
}
