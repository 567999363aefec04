import { requestedByAnnotation, type BatchJob } from '../../infra/manifests/batch.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodEnded, podFault, type Pod } from '../../runtime/contracts/pod.ts';
import type { Run } from '../../runtime/contracts/resources/run.ts';
import { runLabel } from '../../runtime/domain/labels.ts';
import { startFault } from '../../runtime/domain/start-fault.ts';
import type { ChildOptions } from '../../runtime/kube/children.ts';
import { dependencyFailure } from './dependency-failure.ts';
import { errorLine, lastMessage } from './log-summary.ts';

const messageMax = 500;

/**
 * The options for creating a requested run. An existing run is kept, because its template cannot change. The owner is
 * not its controller: a CronJob would treat a Job whose controller has the CronJob's name as its own, and delete it
 * with its older ones.
 * https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/cronjob/cronjob_controllerv2.go#L265
 */
export const createOnly: ChildOptions<BatchJob> = { keep: (live) => live, controlled: false };

/** The progress of a batch Job. */
export type RunProgress = Pick<Run, 'state' | 'startedAt' | 'endedAt' | 'message'>;

/**
 * The progress of a batch Job, and why it failed or does not start. Pure.
 * @param options.container the container whose end counts; default any
 * @param options.previousFailure the failure that was reported before, because the pods may have been deleted
 */
export function runProgress(
  run: Stored<BatchJob>,
  pods: readonly Stored<Pod>[],
  { container, previousFailure }: { container?: string; previousFailure?: string | undefined } = {},
): RunProgress {
  const { status } = run;
  const own = podsOf(pods, run);
  const end = endOf(run);
  // The Job's status follows the end of its pod with a delay. A pod is no longer ready some time before it has ended.
  const started = (status?.ready ?? 0) > 0 || own.some(isAtWork) || (own.length > 0 && own.every(isPodEnded));
  const state = end?.state ?? (started ? 'running' : 'pending');
  const message =
    state === 'failed'
      ? failureOf(
          run,
          own.map((pod) => dependencyFailure(pod) ?? endOfContainer(pod, container)),
          previousFailure,
        )
      : state === 'pending'
        ? waitOf(own)
        : undefined;
  return {
    state,
    ...(status?.startTime !== undefined && { startedAt: status.startTime }),
    ...(end && { endedAt: end.at }),
    ...(message !== undefined && { message }),
  };
}

/**
 * The batch Jobs of a workload for its status, newest first. Pure.
 * @param options.previous the runs of the previous status
 */
export function reportRuns<Trigger extends string>(
  runs: readonly Stored<BatchJob>[],
  pods: readonly Stored<Pod>[],
  options: { container: string; previous: readonly Run[] | undefined; triggerOf: (run: Stored<BatchJob>) => Trigger },
): Run<Trigger>[] {
  const { container, previous, triggerOf } = options;
  const entries = runs.map((run): Run<Trigger> => {
    const { name, annotations, creationTimestamp } = run.metadata;
    const by = annotations?.[requestedByAnnotation];
    const previousFailure = previous?.find((before) => before.name === name && before.state === 'failed')?.message;
    const { state, ...times } = runProgress(run, pods, { container, previousFailure });
    return {
      name,
      trigger: triggerOf(run),
      state,
      ...(by !== undefined && { by }),
      createdAt: creationTimestamp ?? new Date(0).toISOString(),
      ...times,
    };
  });
  // Kubernetes tells times in seconds. Of the runs of one second, those that the status did not have yet are newer.
  const place = ({ name }: Run) => previous?.findIndex((before) => before.name === name) ?? -1;
  return entries.sort(
    (a, b) => b.createdAt.localeCompare(a.createdAt) || place(a) - place(b) || a.name.localeCompare(b.name),
  );
}

/** The number of active runs. */
export function countActive(runs: readonly Run[]): number {
  return runs.filter(({ state }) => state === 'pending' || state === 'running').length;
}

/** When and how a run ended; undefined while it is active. */
export function endOf({ status, metadata }: BatchJob): { state: 'succeeded' | 'failed'; at: string } | undefined {
  for (const { type, status: value, lastTransitionTime } of status?.conditions ?? []) {
    if (value !== 'True' || (type !== 'Complete' && type !== 'Failed')) continue;
    const at = status?.completionTime ?? lastTransitionTime ?? metadata.creationTimestamp ?? new Date(0).toISOString();
    return { state: type === 'Complete' ? 'succeeded' : 'failed', at };
  }
  return undefined;
}

/**
 * Why a run failed: the failure of its last attempt, or else the Job's condition, which only says that no attempts are
 * left.
 */
function failureOf(
  { status }: Stored<BatchJob>,
  ends: readonly (string | undefined)[],
  previousFailure: string | undefined,
): string | undefined {
  const condition = status?.conditions?.find(({ type, status: value }) => type === 'Failed' && value === 'True');
  if (condition?.reason === 'DeadlineExceeded') return 'The run exceeded its timeout.';
  return ends.findLast((text) => text !== undefined) ?? previousFailure ?? condition?.message;
}

/** Whether a container of a pod that has not ended runs or has run, and does not wait for its next attempt. */
function isAtWork(pod: Pod): boolean {
  const states = pod.status?.containerStatuses?.map(({ state }) => state) ?? [];
  return !isPodEnded(pod) && states.some((state) => state?.running !== undefined || state?.terminated !== undefined);
}

/** Why a run does not start; undefined without a known cause. */
function waitOf(pods: readonly Stored<Pod>[]): string | undefined {
  const waiting = pods.filter((pod) => !isPodEnded(pod));
  const fault = waiting.map((pod) => podFault(pod) ?? unschedulable(pod)).find((candidate) => candidate !== undefined);
  if (!fault) return undefined;
  const detail = fault.message === undefined ? '' : `: ${lastMessage(fault.message)}`;
  return `The pod cannot start (${fault.reason})${detail}`.slice(0, messageMax);
}

function endOfContainer({ status }: Pod, container: string | undefined): string | undefined {
  const ended = status?.containerStatuses
    ?.filter(({ name }) => container === undefined || name === container)
    .map(({ state }) => state?.terminated)
    .find((end) => end && (container !== undefined || end.exitCode !== 0));
  if (!ended) return status?.reason === undefined ? undefined : `The pod was stopped (${status.reason}).`;
  if (ended.exitCode === 0) return undefined;
  if (ended.reason === 'OOMKilled') return 'The program exceeded its memory limit.';
  const fault = startFault(ended.message ?? '');
  if (fault !== undefined) return fault.slice(0, messageMax);
  const detail = ended.message === undefined ? '' : errorLine(ended.message);
  return `The program exited with code ${ended.exitCode}${detail === '' ? '' : `: ${detail}`}`.slice(0, messageMax);
}

function unschedulable(pod: Pod): { reason: string; message?: string } | undefined {
  const condition = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  if (condition?.reason === undefined) return undefined;
  return { reason: condition.reason, ...(condition.message !== undefined && { message: condition.message }) };
}

function podsOf(pods: readonly Stored<Pod>[], run: Stored<BatchJob>): Stored<Pod>[] {
  return pods
    .filter(({ metadata }) => metadata.labels?.[runLabel] === run.metadata.name)
    .sort((a, b) => (a.metadata.creationTimestamp ?? '').localeCompare(b.metadata.creationTimestamp ?? ''));
}
