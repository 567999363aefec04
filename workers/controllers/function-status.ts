import type { BatchJob } from '../../infra/manifests/batch.ts';
import { functionContainer } from '../../infra/manifests/function-pod.ts';
import type { FunctionDeployment } from '../../infra/manifests/function.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodLive, isPodReady, podFault, type Pod, type PodFault } from '../../runtime/contracts/pod.ts';
import type { FunctionResource, FunctionRun, FunctionStatus } from '../../runtime/contracts/resources/function.ts';
import { publicUrl, type PlatformConfigSpec } from '../../runtime/contracts/resources/platform-config.ts';
import { gatedCondition } from '../../runtime/contracts/resources/public-route.ts';
import { roleLabel } from '../../runtime/domain/labels.ts';
import {
  childrenAdoptedState,
  findCondition,
  mergeConditions,
  setCondition,
  type ConditionState,
} from '../../runtime/kube/conditions.ts';
import { countActive, reportRuns } from './batch-run.ts';
import { dependencyFailure } from './dependency-failure.ts';
import { appliedBindingStatuses } from './bindings.ts';
import { hasMoved, newestPods, startSettings } from './function-settings.ts';
import { lastMessage } from './log-summary.ts';
import { placementText } from './placement.ts';

/**
 * The condition that says whether the function's pods start: False, with the reason, while they crash or cannot be
 * created.
 */
const starting = 'Starting';
const messageMax = 500;

export interface ServingObservation {
  resource: Stored<FunctionResource>;
  /** The host of its route; undefined for a function without HTTP requests. */
  host: string | undefined;
  config: PlatformConfigSpec;
  deployment: Stored<FunctionDeployment> | undefined;
  /** All pods of the function, including terminating ones. */
  pods: readonly Stored<Pod>[];
  /** The problem of its data source; undefined without one. */
  problem: string | undefined;
  now: Date;
}

/**
 * The status of a function with a Deployment object after a successful reconcile. A function whose pods crash is
 * `failed`, and stays so at zero replicas until a pod starts or the function is changed. A function is also `failed`
 * when its new pods do not start, while the previous ones serve. Pure.
 */
export function servingStatus(observation: ServingObservation): FunctionStatus {
  const { resource, host, config, deployment, pods, problem, now } = observation;
  const { generation } = resource.metadata;
  const previous = resource.status;
  const replicas = deployment?.status?.replicas ?? 0;
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const moved = !deployment || hasMoved(deployment);
  // A new one has no pods of an earlier template.
  const updating = !moved && deployment.status?.observedGeneration !== undefined;
  const failure =
    failureOf(moved ? pods : newestPods(deployment, pods)) ??
    (pods.some(isPodReady) ? undefined : lastingFailure(previous, generation));
  const served = failure !== undefined && pods.some(isPodReady);
  const message = served
    ? `${failure.replace(/(?<![.\s])[.\s]+$/, '')}; the previous pods keep serving.`
    : (failure ?? problem ?? (pods.some(isPodReady) ? undefined : placementText(pods, 'its pods')));
  const observed = generation !== undefined && { observedGeneration: generation };
  const conditions = previous?.conditions?.filter(({ type }) => host !== undefined || type !== gatedCondition);
  const adopted = mergeConditions(conditions, [childrenAdoptedState(generation)], now);
  const up = startingState(failure, pods.some(isPodReady));
  return {
    ...observed,
    phase: phaseOf(failure !== undefined, deployment, readyReplicas),
    ...(message !== undefined && { message }),
    ...(host !== undefined && { host, url: publicUrl(config, host), ...previousGateStatus(previous) }),
    replicas,
    readyReplicas,
    ...(updating && failure === undefined && { updating }),
    ...appliedBindingStatuses(resource),
    ...runningSettings(deployment, previous),
    conditions: up ? setCondition(adopted, { ...up, ...observed }, now) : adopted,
  };
}

/** The last state of the gate, which is checked again after the route is updated. */
function previousGateStatus({ gate, gateSince }: FunctionStatus = {}): Pick<FunctionStatus, 'gate' | 'gateSince'> {
  return { ...(gate !== undefined && { gate }), ...(gateSince !== undefined && { gateSince }) };
}

/** The settings of the running pods. While pods of an older template are left, the previous status stays. */
function runningSettings(
  deployment: Stored<FunctionDeployment> | undefined,
  previous: FunctionStatus | undefined,
): Pick<FunctionStatus, 'running'> {
  if (!deployment || deployment.spec.replicas === 0) return {};
  const { template } = deployment.spec;
  return { running: (hasMoved(deployment) ? undefined : previous?.running) ?? startSettings(template) };
}

export interface ScheduleObservation {
  resource: Stored<FunctionResource>;
  /** All existing runs, of the schedule and test runs. */
  runs: readonly Stored<BatchJob>[];
  /** The pods of the runs. */
  pods: readonly Stored<Pod>[];
  now: Date;
}

/**
 * The status of a cron function after a successful reconcile. It is `failed` after a failed scheduled run, until another
 * run succeeds, including test runs. A failed test run is its own result: the schedule's state stays. Pure.
 */
export function scheduleStatus({ resource, runs, pods, now }: ScheduleObservation): FunctionStatus {
  const { generation } = resource.metadata;
  const { conditions, runs: previous } = resource.status ?? {};
  const entries = reportRuns(runs, pods, {
    container: functionContainer,
    previous,
    triggerOf: ({ metadata }) => (metadata.labels?.[roleLabel] === 'test' ? 'test' : 'cron'),
  });
  const active = countActive(entries);
  const failure = failureOfRuns(entries);
  const relevant = conditions?.filter(({ type }) => type !== starting && type !== gatedCondition);
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: active > 0 ? 'running' : failure === undefined ? 'scheduled' : 'failed',
    ...(failure !== undefined && { message: failure }),
    active,
    runs: entries,
    ...appliedBindingStatuses(resource),
    conditions: mergeConditions(relevant, [childrenAdoptedState(generation)], now),
  };
}

/** Why the scheduled run that ended last failed; undefined when it or a later run succeeded. */
function failureOfRuns(runs: readonly FunctionRun[]): string | undefined {
  const [last] = runs
    .filter(({ endedAt, trigger, state }) => endedAt !== undefined && !(trigger === 'test' && state === 'failed'))
    .sort((a, b) => (b.endedAt ?? '').localeCompare(a.endedAt ?? '') || b.createdAt.localeCompare(a.createdAt));
  return last?.state === 'failed' ? `The run ${last.name} failed: ${last.message ?? 'see its log'}` : undefined;
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
  return ready ? { type: starting, status: 'True', reason: 'Started', message: 'The function started.' } : undefined;
}

/** Why the pods do not start; undefined while one of them is ready or may become ready. */
function failureOf(pods: readonly Stored<Pod>[]): string | undefined {
  const live = pods.filter(isPodLive);
  if (live.length === 0 || live.some(isPodReady)) return undefined;
  const failures = live.map(dependencyFailure);
  if (failures.every((failure) => failure !== undefined)) return failures[0];
  const faults = live.map((pod) => podFault(pod) ?? ended(pod));
  const first = faults[0];
  return first && faults.every((fault) => fault !== undefined) ? describe(first) : undefined;
}

/** The last termination of the container: a crashing container runs for a moment between two attempts. */
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
  const failure =
    exitCode === undefined ? `The pod cannot start (${reason})` : `The code failed to start (exit code ${exitCode})`;
  const detail = message === undefined ? '' : lastMessage(message);
  return detail === '' ? `${failure}.` : `${failure}: ${detail}`.slice(0, messageMax);
}
