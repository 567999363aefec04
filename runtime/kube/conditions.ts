import type { Condition } from '../contracts/kubernetes.ts';

/** A condition as a controller decides it; the time of its last change is kept here. */
export type ConditionState = Omit<Condition, 'lastTransitionTime'>;

/** Whether a reconcile pass could write every child (spec.md §2.9). */
export const childrenAdopted = 'ChildrenAdopted';
/** The reason of `ChildrenAdopted=False`. */
export const childReconcileFailed = 'ChildReconcileFailed';
/** The reason of the warning event that goes with it. */
export const reconcileFailed = 'ReconcileFailed';

/**
 * The conditions with one of them set: replaced by type, else appended. `lastTransitionTime` moves only when `status`
 * changes. The list given stays as it is.
 */
export function setCondition(
  conditions: readonly Condition[] | undefined,
  state: ConditionState,
  now: Date,
): Condition[] {
  const list = conditions ?? [];
  const before = list.find(({ type }) => type === state.type);
  const lastTransitionTime = before && before.status === state.status ? before.lastTransitionTime : toSeconds(now);
  const after: Condition = { ...state, lastTransitionTime };
  return before ? list.map((condition) => (condition === before ? after : condition)) : [...list, after];
}

/** Every condition of `states` set, one after the other. */
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

/** `ChildrenAdopted` after a pass: True, or False with what stopped it. */
export function childrenAdoptedState(observedGeneration: number | undefined, failure?: string): ConditionState {
  return {
    type: childrenAdopted,
    status: failure === undefined ? 'True' : 'False',
    reason: failure === undefined ? 'AllReconciled' : childReconcileFailed,
    message: failure ?? 'Every object of the workload is in place.',
    ...(observedGeneration !== undefined && { observedGeneration }),
  };
}

/** metav1.Time carries whole seconds; anything finer would differ from what comes back. */
function toSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z');
}
