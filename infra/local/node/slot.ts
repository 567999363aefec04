import type { ContainerLife } from './container.ts';
import type { Container, NodePod } from './pod-spec.ts';

/** What a container is in its pod: one that ends before the others start, one that runs beside them, or one of them. */
export type Role = 'init' | 'sidecar' | 'main';

/** A container's state as the API has it. */
export interface State {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; message?: string; startedAt?: string; finishedAt: string };
}

/** What the node knows of one container. */
export interface Slot {
  name: string;
  role: Role;
  container: Container;
  state: State;
  lastState: State;
  restarts: number;
  /** Whether it will be started again after it has ended. */
  again: boolean;
  /** Of the image of its newest life; empty before the first. */
  imageID: string;
  /** What runs of it now. */
  life?: ContainerLife | undefined;
}

/** Whether a container is started again after it has ended. */
export function isRestarted({ spec }: NodePod, role: Role, exitCode: number): boolean {
  const { restartPolicy = 'Always' } = spec;
  if (role === 'sidecar') return true;
  if (role === 'init') return exitCode !== 0 && restartPolicy !== 'Never';
  return restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
}

/** Where a container begins: where an earlier node left it. One that ran then has lost that life. */
export function slotOf(pod: NodePod, container: Container, now: string): Slot {
  const { initContainers = [] } = pod.spec;
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const role = !initContainers.includes(container) ? 'main' : container.restartPolicy ? 'sidecar' : 'init';
  const known = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container.name);
  const was = (known?.state ?? {}) as State;
  const message = 'The container was lost when the node stopped.';
  const lost: State = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message, finishedAt: now } };
  const ended = was.running ? lost : was;
  const exitCode = ended.terminated?.exitCode;
  const over = role === 'main' && exitCode !== undefined && !isRestarted(pod, role, exitCode);
  const lastState = ended.terminated ? ended : ((known?.lastState ?? {}) as State);
  const reason = role !== 'main' || initContainers.length === 0 ? 'ContainerCreating' : 'PodInitializing';
  return {
    name: container.name,
    role,
    container,
    state: over ? ended : { waiting: { reason } },
    lastState: over ? {} : lastState,
    restarts: (known?.restartCount ?? 0) + (lastState.terminated && !over ? 1 : 0),
    again: !over,
    imageID: known?.imageID ?? '',
  };
}
