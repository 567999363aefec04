import type { Condition } from '../contracts/kubernetes.ts';

/** A condition without the time of its last change, which {@link setCondition} adds. */
export type ConditionState = Omit<Condition, 'lastTransitionTime'>;

/** Whether a reconcile could write every child (docs/reference/resources.md#conditions). */
const childrenAdopted = 'ChildrenAdopted';
/** The reason of `ChildrenAdopted=False`. */
const childReconcileFailed = 'ChildReconcileFailed';
/** The reason of the warning event that goes with it. */
export const reconcileFailed = 'ReconcileFailed';

/**
 * Returns the conditions with one of them replaced by its type, or appended. `lastTransitionTime` changes only with
 * `status`. Does not modify the list.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  state: ConditionState,
  now: Date,
): Condition[] {
  const list = conditions ?? [];
  const previous = list.find(({ type }) => type === state.type);
  const lastTransitionTime =
    previous && previous.status === state.status ? previous.lastTransitionTime : toSeconds(now);
  const next: Condition = { ...state, lastTransitionTime };
  return previous ? list.map((condition) => (condition === previous ? next : condition)) : [...list, next];
}

/** Applies {@link setCondition} for each of `states`. */
export function mergeConditions(
  conditions: readonly Condition[] | undefined,
  states: readonly ConditionState[],
  now: Date,
): Condition[] {
  return states.reduce<Condition[]>((list, state) => setCondition(list, state, now), [...(conditions ?? [])]);
}

/** The condition of one type. */
export function findCondition(conditions: readonly Condition[] | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** `ChildrenAdopted` after a reconcile: True, or False with the failure. */
export function childrenAdoptedState(observedGeneration: number | undefined, failure?: string): ConditionState {
  return {
    type: childrenAdopted,
    status: failure === undefined ? 'True' : 'False',
    reason: failure === undefined ? 'AllReconciled' : childReconcileFailed,
    message: failure ?? 'Every object of the workload is in place.',
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}

/** metav1.Time has whole seconds; a fraction would differ from the stored value. */
function toSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
