import { conflict } from './api-error.ts';
import { terminatingDefinition } from './custom-resource.ts';
import { textIn, valueAt } from './json.ts';
import { timestamp, type ApiObject, type Resource } from './resource.ts';

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/delete-options/ */
export interface DeleteOptions {
  preconditions?: { uid?: string; resourceVersion?: string };
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan';
  gracePeriodSeconds?: number;
  dryRun?: boolean;
}

/** The finalizers that define how the garbage collector treats dependents. */
const finalizerByPolicy = { Background: '', Foreground: 'foregroundDeletion', Orphan: 'orphan' };
/** The default grace period of a pod. */
const graceSeconds = 30;

/**
 * Kinds that contain other objects and are removed only when empty, without a finalizer in the request (cleanup.ts).
 */
const isContainer = ({ kind }: ApiObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition';

/** Checks the preconditions of a deletion. @throws ApiError 409 when they do not match */
export function checkPreconditions(
  { metadata }: ApiObject,
  { group, kind }: Resource,
  preconditions: DeleteOptions['preconditions'] = {},
): void {
  const check = (label: string, expected: string | undefined, actual = '', change: string) => {
    if (expected === undefined || expected === actual) return;
    const reason = `the ${label} in the precondition (${expected}) does not match the ${label} in record (${actual}). The object might have been ${change}`;
    throw conflict({ group, kind, plural: kind }, metadata.name, reason);
  };
  check('UID', preconditions.uid, metadata.uid, 'deleted and then recreated');
  check('ResourceVersion', preconditions.resourceVersion, metadata.resourceVersion, 'modified');
}

const isWaiting = ({ metadata: { finalizers = [], deletionGracePeriodSeconds = 0 } }: ApiObject) =>
  finalizers.length > 0 || deletionGracePeriodSeconds > 0;

/** Whether an object that is marked for deletion must stay: it has finalizers, a grace period or content. */
export function mustStay(object: ApiObject): boolean {
  return isWaiting(object) || isContainer(object);
}

/** Whether an object that is being deleted can be removed. */
export function canBeRemoved(object: ApiObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && !isWaiting(object) && object.kind !== 'Namespace';
}

/** The grace period in seconds. Only running pods on a node have one. */
function graceOf(object: ApiObject, requested: number | undefined): number {
  const ended = ['Succeeded', 'Failed'].includes(textIn(valueAt(object, 'status.phase')));
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod' || ended || !valueAt(object, 'spec.nodeName')) return 0;
  return Math.max(0, requested ?? Number(valueAt(object, 'spec.terminationGracePeriodSeconds') ?? graceSeconds));
}

/** Marks an object for deletion. A second deletion may shorten the grace period, never extend it. Pure. */
export function markForDeletion(
  live: ApiObject,
  { propagationPolicy: policy, gracePeriodSeconds }: DeleteOptions,
  now: Date,
): ApiObject {
  const { finalizers: current = [], ...rest } = live.metadata;
  const ownFinalizers = current.filter((name) => !Object.values(finalizerByPolicy).includes(name));
  // Without a policy, the object's own finalizers apply.
  const finalizers = policy ? [...ownFinalizers, finalizerByPolicy[policy]].filter(Boolean) : current;
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, generation } = rest;
  const metadata: ApiObject['metadata'] = { ...rest, ...(finalizers.length > 0 && { finalizers }) };
  const grace = graceOf(live, gracePeriodSeconds);
  if (deletionTimestamp !== undefined && grace >= deletionGracePeriodSeconds) return { ...live, metadata };
  metadata.deletionTimestamp = timestamp(new Date(now.getTime() + grace * 1000));
  if (live.kind === 'Namespace') return { ...live, metadata, status: { phase: 'Terminating' } };
  if (isContainer(live)) return terminatingDefinition({ ...live, metadata }, now);
  metadata.deletionGracePeriodSeconds = grace;
  if (deletionTimestamp === undefined && generation !== undefined) metadata.generation = generation + 1;
  return { ...live, metadata };
}
