import { jobContainer, requestedByAnnotation, type BatchJob } from '../../infra/manifests/job.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { JobResource, JobRun, JobStatus } from '../../runtime/contracts/resources/job.ts';
import { roleLabel } from '../../runtime/domain/labels.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';
import { runProgress } from './batch-run.ts';

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
  const shown = runs.map((run) => runOf(run, pods, job.status)).sort(newestFirst);
  const active = shown.filter(({ state }) => !hasEnded(state)).length;
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: phaseOf(job, active),
    active,
    runs: shown,
    conditions: mergeConditions(job.status?.conditions, [childrenAdoptedState(generation)], now),
  };
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
  const { name, labels, annotations, creationTimestamp } = run.metadata;
  const by = annotations?.[requestedByAnnotation];
  const known = previous?.runs?.find((before) => before.name === name && before.state === 'failed')?.message;
  const { state, ...times } = runProgress(run, pods, { container: jobContainer, known });
  return {
    name,
    trigger: labels?.[roleLabel] === 'cron' ? 'schedule' : 'manual',
    state,
    ...(by !== undefined && { by }),
    createdAt: creationTimestamp ?? new Date(0).toISOString(),
    ...times,
  };
}

function newestFirst(a: JobRun, b: JobRun): number {
  return b.createdAt.localeCompare(a.createdAt) || a.name.localeCompare(b.name);
}
