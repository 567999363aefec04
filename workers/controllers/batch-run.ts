import { requestedByAnnotation, runLabel, type BatchJob } from '../../infra/manifests/batch.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { isPodEnded, podFault, type Pod } from '../../runtime/contracts/pod.ts';
import type { Run } from '../../runtime/contracts/resources/run.ts';
import type { ChildOptions } from '../../runtime/kube/children.ts';
import { dependencyFailure } from './dependency-failure.ts';
import { lastLine } from './last-line.ts';

const messageMax = 500;

/**
 * How a run that was asked for is ensured. One that is there stays as it was made: its template never changes. Its owner is
 * not its controller: a CronJob takes every Job whose controller is called like it for a run of its own, and removes it with
 * its older ones. https://github.com/kubernetes/kubernetes/blob/v1.34.4/pkg/controller/cronjob/cronjob_controllerv2.go#L265
 */
export const asItWasMade: ChildOptions<BatchJob> = { keep: (live) => live, controlled: false };

/** How far a batch Job has come. */
export type RunProgress = Pick<Run, 'state' | 'startedAt' | 'endedAt' | 'message'>;

/**
 * How far a batch Job has come, and why it failed or does not start. Pure.
 * @param options.container the one whose end counts; default any
 * @param options.known why it failed, as it was known before: the pods that knew may be gone by now
 */
export function runProgress(
  run: Stored<BatchJob>,
  pods: readonly Stored<Pod>[],
  { container, known }: { container?: string; known?: string | undefined } = {},
): RunProgress {
  const { status } = run;
  const own = podsOf(pods, run);
  const end = endOf(run);
  // A Job hears of its pod's end a moment after the pod.
  const begun = (status?.ready ?? 0) > 0 || (own.length > 0 && own.every(isPodEnded));
  const state = end?.state ?? (begun ? 'running' : 'pending');
  const message =
    state === 'failed'
      ? failureOf(
          run,
          own.map((pod) => dependencyFailure(pod) ?? endOfContainer(pod, container)),
          known,
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
 * The batch Jobs of one workload as its status shows them, newest first. Pure.
 * @param options.previous what was shown before
 */
export function reportRuns<Trigger extends string>(
  runs: readonly Stored<BatchJob>[],
  pods: readonly Stored<Pod>[],
  options: {
    container: string;
    previous: readonly Run[] | undefined;
    triggerOf: (run: Stored<BatchJob>) => Trigger;
  },
): Run<Trigger>[] {
  const { container, previous, triggerOf } = options;
  const shown = runs.map((run): Run<Trigger> => {
    const { name, annotations, creationTimestamp } = run.metadata;
    const by = annotations?.[requestedByAnnotation];
    const known = previous?.find((before) => before.name === name && before.state === 'failed')?.message;
    const { state, ...times } = runProgress(run, pods, { container, known });
    return {
      ...{ name, trigger: triggerOf(run), state },
      ...(by !== undefined && { by }),
      createdAt: creationTimestamp ?? new Date(0).toISOString(),
      ...times,
    };
  });
  return shown.sort((a, b) => b.createdAt.localeCompare(a.createdAt) || a.name.localeCompare(b.name));
}

/** How many of the runs go on. */
export function countActive(runs: readonly Run[]): number {
  return runs.filter(({ state }) => state === 'pending' || state === 'running').length;
}

/** When a run ended, and how; undefined while it goes on. */
export function endOf({ status, metadata }: BatchJob): { state: 'succeeded' | 'failed'; at: string } | undefined {
  for (const { type, status: value, lastTransitionTime } of status?.conditions ?? []) {
    if (value !== 'True' || (type !== 'Complete' && type !== 'Failed')) continue;
    const at = status?.completionTime ?? lastTransitionTime ?? metadata.creationTimestamp ?? new Date(0).toISOString();
    return { state: type === 'Complete' ? 'succeeded' : 'failed', at };
  }
  return undefined;
}

/** Why a run failed. Of several attempts the last one speaks; having run out of them alone says nothing. */
function failureOf(
  { status }: Stored<BatchJob>,
  ends: readonly (string | undefined)[],
  known: string | undefined,
): string | undefined {
  const condition = status?.conditions?.find(({ type, status: value }) => type === 'Failed' && value === 'True');
  if (condition?.reason === 'DeadlineExceeded') return 'The run took longer than its time-out.';
  return ends.findLast((text) => text !== undefined) ?? known ?? condition?.message;
}

/** Why a run does not start; undefined while nothing is known against it. */
function waitOf(pods: readonly Stored<Pod>[]): string | undefined {
  const waiting = pods.filter((pod) => !isPodEnded(pod));
  const fault = waiting.map((pod) => podFault(pod) ?? unschedulable(pod)).find((found) => found !== undefined);
  if (!fault) return undefined;
  const said = fault.message === undefined ? '' : `: ${lastLine(fault.message)}`;
  return `The pod does not start (${fault.reason})${said}`.slice(0, messageMax);
}

function endOfContainer({ status }: Pod, container: string | undefined): string | undefined {
  const ended = status?.containerStatuses
    ?.filter(({ name }) => container === undefined || name === container)
    .map(({ state }) => state?.terminated)
    .find((end) => end && (container !== undefined || end.exitCode !== 0));
  if (!ended) return status?.reason === undefined ? undefined : `The pod was ended (${status.reason}).`;
  if (ended.exitCode === 0) return undefined;
  if (ended.reason === 'OOMKilled') return 'The program used more memory than its limit.';
  const said = ended.message === undefined ? '' : lastLine(ended.message);
  return `The program ended with ${ended.exitCode}${said === '' ? '' : `: ${said}`}`.slice(0, messageMax);
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
