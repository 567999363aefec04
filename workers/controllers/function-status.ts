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
import { keptBindings } from './function-bindings.ts';
import { hasMoved, newestPods, startSettings } from './function-settings.ts';
import { lastLine } from './last-line.ts';

/** Whether the function's pods come up: False while they crash or cannot be made, with why. */
const starting = 'Starting';
const messageMax = 500;

export interface ServingObservation {
  resource: Stored<FunctionResource>;
  /** Of its route; undefined for a function that is called for events only. */
  host: string | undefined;
  config: PlatformConfigSpec;
  deployment: Stored<FunctionDeployment> | undefined;
  /** All pods of the function, going ones too. */
  pods: readonly Stored<Pod>[];
  /** What is wrong with its data source; undefined without one. */
  problem: string | undefined;
  now: Date;
}

/**
 * The status of a function with a Deployment after a pass that reached its end. A function whose pods crash is `failed` and
 * stays so at zero replicas, until a pod comes up or the function is changed: zero replicas repair nothing. So is one whose
 * change does not come up, while what ran before serves. Pure.
 */
export function servingStatus(observation: ServingObservation): FunctionStatus {
  const { resource, host, config, deployment, pods, problem, now } = observation;
  const { generation } = resource.metadata;
  const previous = resource.status;
  const replicas = deployment?.status?.replicas ?? 0;
  const readyReplicas = deployment?.status?.readyReplicas ?? 0;
  const moved = !deployment || hasMoved(deployment);
  const failure =
    failureOf(moved ? pods : newestPods(deployment, pods)) ??
    (pods.some(isPodReady) ? undefined : lastingFailure(previous, generation));
  const served = failure !== undefined && pods.some(isPodReady);
  const message = served ? `${failure.replace(/[.\s]*$/, '')}; what ran before keeps serving.` : (failure ?? problem);
  const observed = generation !== undefined && { observedGeneration: generation };
  const kept = previous?.conditions?.filter(({ type }) => host !== undefined || type !== gatedCondition);
  const adopted = mergeConditions(kept, [childrenAdoptedState(generation)], now);
  const up = startingState(failure, pods.some(isPodReady));
  return {
    ...observed,
    phase: phaseOf(failure !== undefined, deployment, readyReplicas),
    ...(message !== undefined && { message }),
    ...(host !== undefined && { host, url: publicUrl(config, host), ...keptGate(previous) }),
    replicas,
    readyReplicas,
    ...(!moved && failure === undefined && { updating: true }),
    ...keptBindings(resource),
    ...runningSettings(deployment, previous),
    conditions: up ? setCondition(adopted, { ...up, ...observed }, now) : adopted,
  };
}

/** What was last seen of the gate, which is judged anew once the route is as it should be. */
function keptGate({ gate, gateSince }: FunctionStatus = {}): Pick<FunctionStatus, 'gate' | 'gateSince'> {
  return { ...(gate !== undefined && { gate }), ...(gateSince !== undefined && { gateSince }) };
}

/** While pods of an older template are left, what was said before still holds. */
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
  /** Every run that is there, of the schedule and test runs. */
  runs: readonly Stored<BatchJob>[];
  /** The pods of the runs. */
  pods: readonly Stored<Pod>[];
  now: Date;
}

/**
 * The status of a cron function after a pass that reached its end. One whose last run failed is `failed` until another
 * ends well, were it a test run. Pure.
 */
export function scheduleStatus({ resource, runs, pods, now }: ScheduleObservation): FunctionStatus {
  const { generation } = resource.metadata;
  const { conditions, runs: previous } = resource.status ?? {};
  const shown = reportRuns(runs, pods, {
    container: functionContainer,
    previous,
    triggerOf: ({ metadata }) => (metadata.labels?.[roleLabel] === 'test' ? 'test' : 'cron'),
  });
  const active = countActive(shown);
  const failure = failureOfRuns(shown);
  const kept = conditions?.filter(({ type }) => type !== starting && type !== gatedCondition);
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: active > 0 ? 'running' : failure === undefined ? 'scheduled' : 'failed',
    ...(failure !== undefined && { message: failure }),
    active,
    runs: shown,
    ...keptBindings(resource),
    conditions: mergeConditions(kept, [childrenAdoptedState(generation)], now),
  };
}

/** Why the run failed that ended last; undefined when it ended well. */
function failureOfRuns(runs: readonly FunctionRun[]): string | undefined {
  const [last] = runs
    .filter(({ endedAt }) => endedAt !== undefined)
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
  return ready ? { type: starting, status: 'True', reason: 'Started', message: 'The function starts.' } : undefined;
}

/** Why the pods do not come up; undefined while one of them is ready or may still become so. */
function failureOf(pods: readonly Stored<Pod>[]): string | undefined {
  const live = pods.filter(isPodLive);
  if (live.length === 0 || live.some(isPodReady)) return undefined;
  const missing = live.map(dependencyFailure);
  if (missing.every((failure) => failure !== undefined)) return missing[0];
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
