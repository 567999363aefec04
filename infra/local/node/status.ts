import { isDeepStrictEqual } from 'node:util';
import type { NodePod } from './pod-spec.ts';
import type { Role, Slot } from './slot.ts';

interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}

/** Where a pod is in its life. Pure. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase */
export function phaseOf(slots: readonly Slot[]): 'Pending' | 'Running' | 'Succeeded' | 'Failed' {
  const exitOf = ({ state, again }: Slot) => (again ? undefined : state.terminated?.exitCode);
  const codes = (role: Role) => slots.filter((slot) => slot.role === role).map(exitOf);
  if (codes('init').some((code) => code !== undefined && code !== 0)) return 'Failed';
  const ends = codes('main');
  const serving = slots.some(({ role, state }) => role === 'sidecar' && state.running !== undefined);
  if (!serving && ends.every((code) => code !== undefined)) {
    return ends.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  }
  const begun = ({ role, state, lastState }: Slot) =>
    role === 'main' && (state.running ?? state.terminated ?? lastState.terminated) !== undefined;
  return slots.some(begun) ? 'Running' : 'Pending';
}

/**
 * A pod's whole status. Pure.
 * @param before the status that is there, whose times are kept where nothing changed
 */
export function statusOf(
  slots: readonly Slot[],
  { address, startTime, now, before }: { address: string; startTime: string; now: string; before: NodePod['status'] },
): object {
  const phase = phaseOf(slots);
  const initialized = slots.every(({ role, state, life }) => {
    if (role === 'init') return state.terminated?.exitCode === 0;
    return role === 'main' || life?.started() === true || phase !== 'Pending';
  });
  const known = (before?.conditions ?? []) as PodCondition[];
  const readiness = readinessOf(slots, phase, initialized);
  const conditions: PodCondition[] = [
    { type: 'PodScheduled', status: 'True' },
    initialized
      ? { type: 'Initialized', status: 'True' }
      : { type: 'Initialized', status: 'False', reason: 'ContainersNotInitialized' },
    { type: 'ContainersReady', ...readiness },
    { type: 'Ready', ...readiness },
  ];
  const statuses = (main: boolean) => slots.filter(({ role }) => (role === 'main') === main).map(containerStatus);
  return {
    phase,
    startTime,
    hostIP: address,
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: conditions.map((condition) => {
      const last = known.find(({ type, status }) => type === condition.type && status === condition.status);
      return { ...condition, lastTransitionTime: last?.lastTransitionTime ?? now };
    }),
    initContainerStatuses: statuses(false),
    containerStatuses: statuses(true),
  };
}

function readinessOf(slots: readonly Slot[], phase: string, initialized: boolean): Omit<PodCondition, 'type'> {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  const unready = slots.filter(({ role, life }) => role !== 'init' && !life?.ready());
  if (unready.length === 0) return { status: initialized && phase !== 'Failed' ? 'True' : 'False' };
  const remarks = unready.flatMap(({ name, life }) =>
    life?.remark() === undefined ? [] : `; ${name}: ${life.remark()}`,
  );
  return {
    status: 'False',
    reason: phase === 'Failed' ? 'PodFailed' : 'ContainersNotReady',
    message: `containers with unready status: [${unready.map(({ name }) => name).join(' ')}]${remarks.join('')}`,
  };
}

function containerStatus({ name, container, state, lastState, restarts: restartCount, imageID, life }: Slot): object {
  const serving = { ready: life?.ready() ?? false, started: life?.started() ?? false };
  return { name, image: container.image, imageID, state, lastState, restartCount, ...serving };
}

/** Whether a status says nothing that is not there already. */
export function sameStatus(before: unknown, after: object): boolean {
  const present = (before ?? {}) as Record<string, unknown>;
  return Object.entries(after).every(([field, value]) => isDeepStrictEqual(present[field], value));
}
