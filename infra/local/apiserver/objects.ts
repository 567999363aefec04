import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../../runtime/domain/clock.ts';
import {
  alreadyExists,
  badRequest,
  conflict,
  invalid,
  modified,
  notFound,
  unexpected,
  unversioned,
  type Cause,
} from './api-error.ts';
import { decode, type FieldValidation } from './decode.ts';
import { terminatingDefinition } from './custom-resource.ts';
import { checkMetadata, generatedName, identify, keepIdentity } from './metadata.ts';
import { isJson, valueAt, type Json } from './json.ts';
import { storageOf, timestamp, type ApiObject, type Resource } from './resource.ts';
import { validate } from './schema.ts';
import type { Store } from './store.ts';

/** How a write is to be taken. */
export interface WriteOptions {
  validation?: FieldValidation;
  /** Gets a line for each thing that the writer should know. */
  warnings?: string[];
  /** Everything but the write itself. */
  dryRun?: boolean;
}

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/ */
export interface DeleteOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
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

const foreground = 'foregroundDeletion';
const orphan = 'orphan';
/** A pod's own, when it names none. */
const graceSeconds = 30;

export function createObjects(options: { store: Store; clock: Clock; admit: Admission }): Objects {
  const { store, clock, admit } = options;

  const find = ({ resource, namespace, name }: Place): ApiObject => {
    const live = store.get(storageOf(resource), namespace, name);
    if (!live) throw notFound(resource, name);
    return live;
  };

  const check = (object: ApiObject, resource: Resource, old: ApiObject | undefined) => {
    const causes: Cause[] = [
      ...checkMetadata(object, resource, old),
      ...(resource.custom ? validate(object, resource.schema, old) : []),
      ...(resource.strategy.validate?.(object, old) ?? []),
      ...(old ? fixedFields(object, resource, old) : []),
    ];
    if (causes.length > 0) throw invalid(resource, object.metadata.name, causes);
  };

  const remove = (resource: Resource, object: ApiObject) => store.remove(storageOf(resource), object);

  const write = (resource: Resource, object: ApiObject, dryRun: boolean | undefined): ApiObject =>
    dryRun ? object : store.put(storageOf(resource), object);

  const objects: Objects = {
    get: find,

    create(resource, namespace, body, { validation, warnings, dryRun } = {}) {
      const object = decode(body, resource, { ...(validation && { validation }), ...(warnings && { warnings }) });
      const { metadata } = object;
      placeInto(metadata, resource, namespace);
      const prefix = metadata['generateName'];
      if (!metadata.name && typeof prefix === 'string') metadata.name = generatedName(prefix);
      if (metadata.resourceVersion) throw unexpected('resourceVersion should not be set on objects to be created');
      identify(object, resource, clock.now());
      if (resource.status && resource.custom) delete object.status;
      admit(object, resource);
      check(object, resource, undefined);
      resource.strategy.prepareCreate?.(object, clock.now());
      if (store.get(storageOf(resource), namespace, metadata.name)) throw alreadyExists(resource, metadata.name);
      return write(resource, object, dryRun);
    },

    update(place, change, part, { validation, warnings, dryRun } = {}) {
      const { resource, namespace, name } = place;
      const live = find(place);
      const next = decode(change(live), resource, { ...(validation && { validation }), ...(warnings && { warnings }) });
      if (!next.metadata.name) next.metadata.name = name;
      if (next.metadata.name !== name) {
        throw badRequest(`the name of the object (${next.metadata.name}) does not match the name on the URL (${name})`);
      }
      placeInto(next.metadata, resource, namespace);
      checkVersion(next, live, resource);
      keepIdentity(next, live);
      const merged = part === 'status' ? { ...live, ...(next.status !== undefined && { status: next.status }) } : next;
      if (part === 'main' && resource.status) keepStatus(merged, live);
      if (part === 'main') resource.strategy.prepareUpdate?.(merged, live);
      check(merged, resource, live);
      if (isDeepStrictEqual(merged, live)) return live;
      if (part === 'main' && resource.generation && !isDeepStrictEqual(wanted(merged), wanted(live))) {
        merged.metadata = { ...merged.metadata, generation: (live.metadata.generation ?? 0) + 1 };
      }
      if (isReleased(merged)) {
        if (!dryRun) remove(resource, merged);
        return merged;
      }
      return write(resource, merged, dryRun);
    },

    delete(place, { preconditions = {}, propagationPolicy, gracePeriodSeconds, dryRun } = {}) {
      const { resource } = place;
      const live = find(place);
      checkPreconditions(preconditions, live, resource);
      const finalizers = finalizersOf(live, propagationPolicy);
      const grace = graceOf(live, gracePeriodSeconds);
      const held = finalizers.length > 0 || grace > 0 || isContainer(live);
      if (!held) {
        if (!dryRun) remove(resource, live);
        return { object: live, gone: true };
      }
      const marked = mark(live, finalizers, grace, clock.now());
      return { object: isDeepStrictEqual(marked, live) ? live : write(resource, marked, dryRun), gone: false };
    },

    finish(resource, object) {
      remove(resource, object);
    },
  };
  return objects;
}

function placeInto(metadata: ApiObject['metadata'], resource: Resource, namespace: string | undefined): void {
  if (!resource.namespaced) {
    delete metadata.namespace;
    return;
  }
  if (metadata.namespace !== undefined && metadata.namespace !== namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (namespace !== undefined) metadata.namespace = namespace;
}

function checkVersion(next: ApiObject, live: ApiObject, resource: Resource): void {
  const { uid, resourceVersion } = next.metadata;
  const { name } = live.metadata;
  if (uid !== undefined && uid !== live.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${live.metadata.uid ?? ''}`;
    throw conflict(resource, name, why);
  }
  if (!resourceVersion) {
    if (resource.unconditionalUpdate) return;
    throw unversioned(resource, name);
  }
  if (resourceVersion !== live.metadata.resourceVersion) throw conflict(resource, name, modified);
}

function keepStatus(object: ApiObject, live: ApiObject): void {
  if (live.status === undefined) delete object.status;
  else object.status = live.status;
}

/** What a change of counts as another generation: everything but metadata and status. */
function wanted(object: ApiObject): Json {
  return { ...object, metadata: undefined, status: undefined };
}

function fixedFields(object: ApiObject, { strategy }: Resource, old: ApiObject): Cause[] {
  return (strategy.immutable ?? [])
    .filter((path) => !isDeepStrictEqual(valueAt(object, path), valueAt(old, path)))
    .map((field) => ({
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(valueAt(object, field) ?? null)}: field is immutable`,
      field,
    }));
}

/** What others are in: it goes only when it is empty, and nobody has to ask for that (see cleanup.ts). */
const isContainer = ({ kind }: ApiObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition';

function checkPreconditions(
  preconditions: NonNullable<DeleteOptions['preconditions']>,
  { metadata }: ApiObject,
  { group, kind }: Resource,
): void {
  for (const [label, field, what] of [
    ['UID', 'uid', 'deleted and then recreated'],
    ['ResourceVersion', 'resourceVersion', 'modified'],
  ] as const) {
    const asked = preconditions[field];
    const actual = metadata[field] ?? '';
    if (asked === undefined || asked === actual) continue;
    const why = `the ${label} in the precondition (${asked}) does not match the ${label} in record (${actual}). The object might have been ${what}`;
    throw conflict({ group, kind, plural: kind }, metadata.name, why);
  }
}

/** Whether nothing holds an object any more that is to be deleted. */
function isReleased(object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || finalizers.length > 0 || deletionGracePeriodSeconds > 0) return false;
  return object.kind !== 'Namespace';
}

function finalizersOf({ metadata }: ApiObject, policy: DeleteOptions['propagationPolicy']): string[] {
  const others = (metadata.finalizers ?? []).filter((name) => name !== foreground && name !== orphan);
  // Without a policy, what the object itself says stands.
  if (policy === undefined) return metadata.finalizers ?? [];
  if (policy === 'Background') return others;
  return [...others, policy === 'Foreground' ? foreground : orphan];
}

/** Seconds that a pod gets to end; nothing else has any. One that was never placed, or has ended, needs none. */
function graceOf(object: ApiObject, asked: number | undefined): number {
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod') return 0;
  const spec = isJson(object.spec) ? object.spec : {};
  const phase = valueAt(object, 'status.phase');
  if (!spec['nodeName'] || phase === 'Succeeded' || phase === 'Failed') return 0;
  const own = spec['terminationGracePeriodSeconds'];
  return Math.max(0, asked ?? (typeof own === 'number' ? own : graceSeconds));
}

/** Marks what is to be deleted. What was told to end may be told to end sooner, never later. */
function mark(live: ApiObject, finalizers: string[], grace: number, now: Date): ApiObject {
  const { deletionTimestamp, deletionGracePeriodSeconds, generation } = live.metadata;
  const metadata = { ...live.metadata };
  if (finalizers.length > 0) metadata.finalizers = finalizers;
  else delete metadata.finalizers;
  const shorter = deletionGracePeriodSeconds !== undefined && grace < deletionGracePeriodSeconds;
  if (deletionTimestamp === undefined || shorter) {
    metadata.deletionTimestamp = timestamp(new Date(now.getTime() + grace * 1000));
    if (!isContainer(live)) {
      metadata.deletionGracePeriodSeconds = grace;
      if (deletionTimestamp === undefined && generation !== undefined) metadata.generation = generation + 1;
    }
  }
  if (live.kind === 'Namespace')
    return { ...live, metadata, status: { ...(live.status as Json), phase: 'Terminating' } };
  return isContainer(live) && deletionTimestamp === undefined
    ? terminatingDefinition(live, metadata, now)
    : { ...live, metadata };
}
