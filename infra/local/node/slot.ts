import type { RunningContainer } from './container.ts';
import type { Container, NodePod } from './pod-spec.ts';

/** A container's role in its pod: `init` ends before the others start, `sidecar` runs next to the `main` ones. */
export type Role = 'init' | 'sidecar' | 'main';

/** A container's state, as in the pod's status. */
interface State {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; message?: string; startedAt?: string; finishedAt: string };
}

/** The node's record of one container. */
export interface Slot {
  name: string;
  role: Role;
  container: Container;
  state: State;
  lastState: State;
  restarts: number;
  /** Whether the container starts again after it has ended. */
  willRestart: boolean;
  /** The image of the newest run; empty before the first one. */
  imageID: string;
  /** The container's current run, if any. */
  running?: RunningContainer | undefined;
}

/** Whether a container starts again after it exits with this code. */
export function shouldRestart({ spec }: NodePod, role: Role, exitCode: number): boolean {
  const { restartPolicy = 'Always' } = spec;
  if (role === 'sidecar') return true;
  if (role === 'init') return exitCode !== 0 && restartPolicy !== 'Never';
  return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
}

/** The slot of a container, continued from the status that an earlier node wrote. */
export function createSlot(pod: NodePod, container: Container, now: string): Slot {
  const role = roleOf(pod, container);
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const previous = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container.name);
  const state = withoutLostRun((previous?.state ?? {}) as State, now);
  const common = { name: container.name, role, container, imageID: previous?.imageID ?? '' };
  const restarts = previous?.restartCount ?? 0;
  const exitCode = state.terminated?.exitCode;
  if (role === 'main' && exitCode !== undefined && !shouldRestart(pod, role, exitCode)) {
    return { ...common, state, lastState: {}, restarts, willRestart: false };
  }
  const lastState = state.terminated ? state : ((previous?.lastState ?? {}) as State);
  const hasInit = (pod.spec.initContainers ?? []).length > 0;
  return {
    ...common,
    state: { waiting: { reason: role === 'main' && hasInit ? 'PodInitializing' : 'ContainerCreating' } },
    lastState,
    restarts: restarts + (lastState.terminated ? 1 : 0),
    willRestart: true,
  };
}

function roleOf({ spec: { initContainers = [] } }: NodePod, container: Container): Role {
  if (!initContainers.includes(container)) return 'main';
  return container.restartPolicy ? 'sidecar' : 'init';
}

/** A container that ran on an earlier node ended with that node. */
function withoutLostRun(state: State, now: string): State {
  if (!state.running) return state;
  const message = 'The container was lost when the node stopped.';
  return { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message, finishedAt: now } };
}
