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

/** Finalizers by which the garbage collector is told what to do with an object's dependents. */
const byPolicy = { Background: '', Foreground: 'foregroundDeletion', Orphan: 'orphan' };
/** A pod's own, when it names none. */
const graceSeconds = 30;

/** What others are in: it goes only when it is empty, and nobody has to ask for that (see cleanup.ts). */
const isContainer = ({ kind }: ApiObject) => kind === 'Namespace' || kind === 'CustomResourceDefinition';

/** @throws ApiError 409 when an object is not the one that is to be deleted */
export function checkPreconditions(
  { metadata }: ApiObject,
  { group, kind }: Resource,
  asked: DeleteOptions['preconditions'] = {},
): void {
  const check = (label: string, wanted: string | undefined, actual = '', what: string) => {
    if (wanted === undefined || wanted === actual) return;
    const why = `the ${label} in the precondition (${wanted}) does not match the ${label} in record (${actual}). The object might have been ${what}`;
    throw conflict({ group, kind, plural: kind }, metadata.name, why);
  };
  check('UID', asked.uid, metadata.uid, 'deleted and then recreated');
  check('ResourceVersion', asked.resourceVersion, metadata.resourceVersion, 'modified');
}

const waits = ({ metadata: { finalizers = [], deletionGracePeriodSeconds = 0 } }: ApiObject) =>
  finalizers.length > 0 || deletionGracePeriodSeconds > 0;

/** Whether an object that is marked for deletion has to wait: for finalizers, its grace period, or what is in it. */
export function isHeld(object: ApiObject): boolean {
  return waits(object) || isContainer(object);
}

/** Whether nothing holds an object any more that is to be deleted. */
export function isReleased(object: ApiObject): boolean {
  return object.metadata.deletionTimestamp !== undefined && !waits(object) && object.kind !== 'Namespace';
}

/** Seconds that a pod gets to end; nothing else has any. One that was never placed, or has ended, needs none. */
function graceOf(object: ApiObject, asked: number | undefined): number {
  const ended = ['Succeeded', 'Failed'].includes(textIn(valueAt(object, 'status.phase')));
  if (object.apiVersion !== 'v1' || object.kind !== 'Pod' || ended || !valueAt(object, 'spec.nodeName')) return 0;
  return Math.max(0, asked ?? Number(valueAt(object, 'spec.terminationGracePeriodSeconds') ?? graceSeconds));
}

/** An object that is to be deleted. What was told to end may be told to end sooner, never later. Pure. */
export function markedForDeletion(
  live: ApiObject,
  { propagationPolicy: policy, gracePeriodSeconds }: DeleteOptions,
  now: Date,
): ApiObject {
  const { finalizers: present = [], ...rest } = live.metadata;
  const others = present.filter((name) => !Object.values(byPolicy).includes(name));
  // Without a policy, what the object itself says stands.
  const finalizers = policy ? [...others, byPolicy[policy]].filter(Boolean) : present;
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
