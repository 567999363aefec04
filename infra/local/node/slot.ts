import type { ContainerLife } from './container.ts';
import type { Container, ContainerStatus, NodePod } from './pod-spec.ts';

/** What a container is in its pod: one that ends before the others start, one that runs beside them, or one of them. */
export type Role = 'init' | 'sidecar' | 'main';

type Policy = 'Always' | 'OnFailure' | 'Never';

/** A container's state as the API has it. */
export interface State {
  waiting?: { reason: string; message?: string };
  running?: { startedAt: string };
  terminated?: { exitCode: number; reason: string; message?: string; startedAt?: string; finishedAt: string };
}

/** What the node knows of one container. */
export interface Slot {
  name: string;
  image: string;
  imageID?: string;
  role: Role;
  state: State;
  lastState: State;
  restarts: number;
  ready: boolean;
  started: boolean;
  /** Whether it will be started again after it has ended. */
  again: boolean;
  remark?: string | undefined;
}

/** A container that a worker runs. */
export interface Running extends Slot {
  container: Container;
  life: ContainerLife | undefined;
}

/** Whether a container is started again after it has ended. */
export function isRestarted(role: Role, policy: Policy, exitCode: number): boolean {
  if (role === 'sidecar') return true;
  if (role === 'init') return exitCode !== 0 && policy !== 'Never';
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

/** Where a container begins: where an earlier node left it. One that ran then has lost that life. */
export function slotOf(pod: NodePod, container: Container, policy: Policy, now: string): Running {
  const isInit = pod.spec.initContainers?.includes(container) ?? false;
  const role = isInit ? (container.restartPolicy === 'Always' ? 'sidecar' : 'init') : 'main';
  const known: ContainerStatus | undefined = [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
  ].find(({ name }) => name === container.name);
  const was = (known?.state ?? {}) as State;
  const message = 'The container was lost when the node stopped.';
  const lost: State = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown', message, finishedAt: now } };
  const ended = was.running ? lost : was;
  const exitCode = ended.terminated?.exitCode;
  const over = role === 'main' && exitCode !== undefined && !isRestarted(role, policy, exitCode);
  const hadLife = ended.terminated !== undefined || known?.lastState?.terminated !== undefined;
  const reason = isInit || !pod.spec.initContainers?.length ? 'ContainerCreating' : 'PodInitializing';
  return {
    name: container.name,
    image: container.image,
    container,
    role,
    state: over ? ended : { waiting: { reason } },
    lastState: over ? {} : ended.terminated ? ended : ((known?.lastState ?? {}) as State),
    restarts: (known?.restartCount ?? 0) + (hadLife && !over ? 1 : 0),
    ready: false,
    started: false,
    again: !over,
    life: undefined,
  };
}
