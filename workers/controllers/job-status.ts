import { jobContainer, requestedByAnnotation, type BatchJob } from '../../infra/manifests/job.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import { podFault, type Pod } from '../../runtime/contracts/pod.ts';
import type { JobResource, JobRun, JobStatus } from '../../runtime/contracts/resources/job.ts';
import { roleLabel } from '../../runtime/domain/labels.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';

/** The kubelet's and the Job controller's label on a run's pods. */
export const runLabel = 'batch.kubernetes.io/job-name';

const messageMax = 500;

export interface JobObservation {
  job: Stored<JobResource>;
  /** Every run that is there, of the schedule and of requests. */
  runs: readonly Stored<BatchJob>[];
  /** The pods of the runs. */
  pods: readonly Stored<Pod>[];
  now: Date;
}

/** The status after a pass that reached its end. Pure. */
export function observedStatus({ job, runs, pods, now }: JobObservation): JobStatus {
  const { generation } = job.metadata;
  const shown = runs.map((run) => runOf(run, podsOf(pods, run), job.status)).sort(newestFirst);
  const active = shown.filter(({ state }) => !hasEnded(state)).length;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: phaseOf(job, active),
    active,
    runs: shown,
    conditions: mergeConditions(job.status?.conditions, [childrenAdoptedState(generation)], now),
  };
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

function hasEnded(state: JobRun['state']): boolean {
  return state === 'succeeded' || state === 'failed';
}

function phaseOf({ spec }: JobResource, active: number): NonNullable<JobStatus['phase']> {
  if (active > 0) return 'running';
  if (spec.schedule === undefined) return 'ready';
  return spec.suspended ? 'suspended' : 'scheduled';
}

function runOf(run: Stored<BatchJob>, pods: readonly Stored<Pod>[], previous: JobStatus | undefined): JobRun {
  const { metadata, status } = run;
  const end = endOf(run);
  const by = metadata.annotations?.[requestedByAnnotation];
  const state = end?.state ?? ((status?.ready ?? 0) > 0 ? 'running' : 'pending');
  const message = state === 'failed' ? failureOf(run, pods, previous) : state === 'pending' ? waitOf(pods) : undefined;
  return {
    name: metadata.name,
    trigger: metadata.labels?.[roleLabel] === 'cron' ? 'schedule' : 'manual',
    state,
    ...(by !== undefined && { by }),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
    ...(status?.startTime !== undefined && { startedAt: status.startTime }),
    ...(end && { endedAt: end.at }),
    ...(message !== undefined && { message }),
  };
}

/** Why a run failed. Of several attempts the last one speaks; having run out of them alone says nothing. */
function failureOf(
  { metadata, status }: Stored<BatchJob>,
  pods: readonly Stored<Pod>[],
  previous: JobStatus | undefined,
): string | undefined {
  const condition = status?.conditions?.find(({ type, status: value }) => type === 'Failed' && value === 'True');
  if (condition?.reason === 'DeadlineExceeded') return 'The run took longer than its time-out.';
  const ends = pods.map(endOfContainer).filter((text) => text !== undefined);
  // The pods that knew why may be gone by now.
  const known = previous?.runs?.find(({ name, state }) => name === metadata.name && state === 'failed');
  return ends.at(-1) ?? known?.message ?? condition?.message;
}

/** Why a run does not start; undefined while nothing is known against it. */
function waitOf(pods: readonly Stored<Pod>[]): string | undefined {
  const fault = pods.map((pod) => podFault(pod) ?? unschedulable(pod)).find((found) => found !== undefined);
  if (!fault) return undefined;
  const said = fault.message === undefined ? '' : `: ${lastLine(fault.message)}`;
  return `The pod does not start (${fault.reason})${said}`.slice(0, messageMax);
}

function endOfContainer(pod: Pod): string | undefined {
  const status = pod.status?.containerStatuses?.find(({ name }) => name === jobContainer);
  const ended = status?.state?.terminated;
  if (!ended) return pod.status?.reason === undefined ? undefined : `The pod was ended (${pod.status.reason}).`;
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

function newestFirst(a: JobRun, b: JobRun): number {
  return b.createdAt.localeCompare(a.createdAt) || a.name.localeCompare(b.name);
}

function lastLine(log: string): string {
  return log.trimEnd().split('\n').at(-1)?.trim() ?? '';
}
