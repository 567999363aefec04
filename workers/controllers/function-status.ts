import { functionContainer, type FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, podFault, type Pod, type PodFault } from '../../runtime/contracts/pod.ts';
import type { FunctionResource, FunctionStatus } from '../../runtime/contracts/resources/function.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import {
  childrenAdoptedState,
  findCondition,
  mergeConditions,
  setCondition,
  type ConditionState,
} from '../../runtime/kube/conditions.ts';

/** Whether the function's pods come up: False while they crash or cannot be made, with why. */
const starting = 'Starting';
const messageMax = 500;

export interface Observation {
  resource: Stored<FunctionResource>;
  host: string;
  config: PlatformConfigSpec;
  deployment: Stored<FunctionDeployment> | undefined;
  /** All pods of the function, going ones too. */
  pods: readonly Stored<Pod>[];
  now: Date;
}

/**
 * The status after a pass that reached its end. A function whose pods crash is `failed` and stays so at zero replicas,
 * until a pod comes up or the function is changed: zero replicas repair nothing. Pure.
 */
export function observedStatus({ resource, host, config, deployment, pods, now }: Observation): FunctionStatus {
  const { generation } = resource.metadata;
  const previous = resource.status;
  const replicas = deployment?.status?.replicas ?? 0;
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const failure = failureOf(pods) ?? (pods.some(isPodReady) ? undefined : lastingFailure(previous, generation));
  const observed = generation !== undefined && { observedGeneration: generation };
  const adopted = mergeConditions(previous?.conditions, [childrenAdoptedState(generation)], now);
  const up = startingState(failure, pods.some(isPodReady));
  return {
    ...observed,
    phase: phaseOf(failure !== undefined, deployment, readyReplicas),
    ...(failure !== undefined && { message: failure }),
    host,
    url: publicUrl(config, host),
    replicas,
    readyReplicas,
    conditions: up ? setCondition(adopted, { ...up, ...observed }, now) : adopted,
  };
}

function phaseOf(
  failed: boolean,
  deployment: Stored<FunctionDeployment> | undefined,
  readyReplicas: number,
): NonNullable<FunctionStatus['phase']> {
  if (failed) return 'failed';
  if (!deployment) return 'pending';
  if (readyReplicas > 0) return 'running';
  return deployment.spec.replicas === 0 ? 'idle' : 'pending';
}

function startingState(failure: string | undefined, ready: boolean): ConditionState | undefined {
  if (failure !== undefined) return { type: starting, status: 'False', reason: 'StartFailed', message: failure };
  return ready ? { type: starting, status: 'True', reason: 'Started', message: 'The function starts.' } : undefined;
}

/** Why the pods do not come up; undefined while one of them is ready or may still become so. */
function failureOf(pods: readonly Stored<Pod>[]): string | undefined {
  const live = pods.filter(isPodLive);
  if (live.length === 0 || live.some(isPodReady)) return undefined;
  const faults = live.map((pod) => podFault(pod) ?? ended(pod));
  const first = faults[0];
  return first && faults.every((fault) => fault !== undefined) ? describe(first) : undefined;
}

/** Between two attempts of a crashing container the kubelet says "running" for a moment: its last end still counts. */
function ended(pod: Pod): PodFault | undefined {
  const status = pod.status?.containerStatuses?.find(({ name }) => name === functionContainer);
  const terminated = status?.state?.terminated ?? status?.lastState?.terminated;
  if (!terminated || status?.ready === true || terminated.exitCode === 0) return undefined;
  return {
    reason: terminated.reason ?? 'Error',
    exitCode: terminated.exitCode,
    ...(terminated.message !== undefined && { message: terminated.message }),
  };
}

function lastingFailure(previous: FunctionStatus | undefined, generation: number | undefined): string | undefined {
  const condition = findCondition(previous?.conditions, starting);
  return condition?.status === 'False' && condition.observedGeneration === generation ? condition.message : undefined;
}

function describe({ reason, exitCode, message }: PodFault): string {
  const how =
    exitCode === undefined ? `The pod cannot start (${reason})` : `The code does not start (exit code ${exitCode})`;
  const said = message === undefined ? '' : lastLine(message);
  return said === '' ? `${how}.` : `${how}: ${said}`.slice(0, messageMax);
}

/** The last line of a log; of the runtime's JSON entries, what they say. */
function lastLine(log: string): string {
  const line = log.trimEnd().split('\n').at(-1)?.trim() ?? '';
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry === 'object' && entry !== null && 'msg' in entry) return String(entry.msg);
  } catch {
    // Plain text.
  }
  return line;
}
