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

/** A pod's phase. Pure. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase */
export function phaseOf(slots: readonly Slot[]): 'Pending' | 'Running' | 'Succeeded' | 'Failed' {
  const exitOf = ({ state, willRestart }: Slot) => (willRestart ? undefined : state.terminated?.exitCode);
  const codes = (role: Role) => slots.filter((slot) => slot.role === role).map(exitOf);
  if (codes('init').some((code) => code !== undefined && code !== 0)) return 'Failed';
  const ends = codes('main');
  const serving = slots.some(({ role, state }) => role === 'sidecar' && state.running !== undefined);
  if (!serving && ends.every((code) => code !== undefined)) {
    return ends.every((code) => code === 0) ? 'Succeeded' : 'Failed';
  }
  const hasStarted = ({ role, state, lastState }: Slot) =>
    role === 'main' && (state.running ?? state.terminated ?? lastState.terminated) !== undefined;
  return slots.some(hasStarted) ? 'Running' : 'Pending';
}

/**
 * A pod's complete status. Pure.
 * @param before the current status. The times of unchanged conditions are kept
 */
export function statusOf(
  slots: readonly Slot[],
  { address, startTime, now, before }: { address: string; startTime: string; now: string; before: NodePod['status'] },
): object {
  const phase = phaseOf(slots);
  const initialized = slots.every(({ role, state, running }) => {
    if (role === 'init') return state.terminated?.exitCode === 0;
    return role === 'main' || running?.started() === true || phase !== 'Pending';
  });
  const previous = (before?.conditions ?? []) as PodCondition[];
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
      const last = previous.find(({ type, status }) => type === condition.type && status === condition.status);
      return { ...condition, lastTransitionTime: last?.lastTransitionTime ?? now };
    }),
    initContainerStatuses: statuses(false),
    containerStatuses: statuses(true),
  };
}

function readinessOf(slots: readonly Slot[], phase: string, initialized: boolean): Omit<PodCondition, 'type'> {
  if (phase === 'Succeeded') return { status: 'False', reason: 'PodCompleted' };
  const unready = slots.filter(({ role, running }) => role !== 'init' && !running?.ready());
  if (unready.length === 0) return { status: initialized && phase !== 'Failed' ? 'True' : 'False' };
  const warnings = unready.flatMap(({ name, running }) =>
    running?.warning() === undefined ? [] : `; ${name}: ${running.warning()}`,
  );
  return {
    status: 'False',
    reason: phase === 'Failed' ? 'PodFailed' : 'ContainersNotReady',
    message: `containers with unready status: [${unready.map(({ name }) => name).join(' ')}]${warnings.join('')}`,
  };
}

function containerStatus({
  name,
  container,
  state,
  lastState,
  restarts: restartCount,
  imageID,
  running,
}: Slot): object {
  const serving = { ready: running?.ready() ?? false, started: running?.started() ?? false };
  return { name, image: container.image, imageID, state, lastState, restartCount, ...serving };
}

/** Whether all fields of the new status already have these values. */
export function sameStatus(before: unknown, after: object): boolean {
  const current = (before ?? {}) as Record<string, unknown>;
  return Object.entries(after).every(([field, value]) => isDeepStrictEqual(current[field], value));
}
