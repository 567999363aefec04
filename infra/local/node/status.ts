import { isDeepStrictEqual } from 'node:util';
import type { NodePod } from './pod-spec.ts';
import type { Slot } from './slot.ts';

type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

interface PodCondition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastTransitionTime: string;
}

/** Where a pod is in its life. Pure. https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-phase */
export function phaseOf(slots: readonly Slot[]): Phase {
  const over = ({ state, again }: Slot) => state.terminated !== undefined && !again;
  const init = slots.filter(({ role }) => role === 'init');
  if (init.some((slot) => over(slot) && slot.state.terminated?.exitCode !== 0)) return 'Failed';
  const main = slots.filter(({ role }) => role === 'main');
  const serving = slots.some(({ role, state }) => role === 'sidecar' && state.running !== undefined);
  if (main.length > 0 && main.every(over) && !serving) {
    return main.every(({ state }) => state.terminated?.exitCode === 0) ? 'Succeeded' : 'Failed';
  }
  const begun = main.some(({ state, lastState }) => state.running ?? state.terminated ?? lastState.terminated);
  return begun ? 'Running' : 'Pending';
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
  const initialized = slots.every(({ role, state, started }) => {
    if (role === 'main') return true;
    return role === 'init' ? state.terminated?.exitCode === 0 : started || phase !== 'Pending';
  });
  const unready = slots.filter(({ role, ready }) => role !== 'init' && !ready);
  const ended = phase === 'Succeeded' || phase === 'Failed';
  const remarks = unready.flatMap(({ name, remark }) => (remark === undefined ? [] : [`${name}: ${remark}`]));
  const readiness = {
    status: unready.length === 0 && initialized && !ended ? 'True' : 'False',
    ...(phase === 'Succeeded' && { reason: 'PodCompleted' }),
    ...(phase !== 'Succeeded' &&
      unready.length > 0 && {
        reason: ended ? 'PodFailed' : 'ContainersNotReady',
        message: [`containers with unready status: [${unready.map(({ name }) => name).join(' ')}]`, ...remarks].join(
          '; ',
        ),
      }),
  };
  const conditions = [
    { type: 'PodScheduled', status: 'True' },
    {
      type: 'Initialized',
      status: initialized ? 'True' : 'False',
      ...(!initialized && { reason: 'ContainersNotInitialized' }),
    },
    { type: 'ContainersReady', ...readiness },
    { type: 'Ready', ...readiness },
  ];
  const known = (before?.conditions ?? []) as PodCondition[];
  const statuses = (role: 'init' | 'main') =>
    slots.filter((slot) => (slot.role === 'main') === (role === 'main')).map(containerStatus);
  const init = statuses('init');
  return {
    phase,
    startTime,
    hostIP: address,
    hostIPs: [{ ip: address }],
    podIP: address,
    podIPs: [{ ip: address }],
    qosClass: 'Burstable',
    conditions: conditions.map((condition) => {
      const last = known.find(({ type, status }) => type === condition.type && status === condition.status);
      return { ...condition, lastTransitionTime: last?.lastTransitionTime ?? now };
    }),
    ...(init.length > 0 && { initContainerStatuses: init }),
    containerStatuses: statuses('main'),
  };
}

function containerStatus({ name, image, imageID = '', state, lastState, restarts, ready, started }: Slot): object {
  return { name, image, imageID, state, lastState, restartCount: restarts, ready, started };
}

/** Whether a status says nothing that is not there already. */
export function sameStatus(before: unknown, after: object): boolean {
  const present = (before ?? {}) as Record<string, unknown>;
  return Object.entries(after).every(([field, value]) => isDeepStrictEqual(present[field], value));
}
