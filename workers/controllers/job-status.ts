import type { BatchJob } from '../../infra/manifests/batch.ts';
import { jobContainer } from '../../infra/manifests/job.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { Pod } from '../../runtime/contracts/pod.ts';
import type { JobResource, JobStatus } from '../../runtime/contracts/resources/job.ts';
import { roleLabel } from '../../runtime/domain/labels.ts';
import { childrenAdoptedState, mergeConditions } from '../../runtime/kube/conditions.ts';
import { countActive, reportRuns } from './batch-run.ts';
import { currentBindingStatuses } from './bindings.ts';
import type { RunWait } from './job-environment.ts';

export interface JobObservation {
  job: Stored<JobResource>;
  /** All existing runs, of the schedule and requested ones. */
  runs: readonly Stored<BatchJob>[];
  /** The pods of the runs. */
  pods: readonly Stored<Pod>[];
  /** What its next runs wait for; undefined when they can start. */
  wait: RunWait | undefined;
  now: Date;
}

/** The status after a successful reconcile. Pure. */
export function observedStatus({ job, runs, pods, wait, now }: JobObservation): JobStatus {
  const { generation } = job.metadata;
  const entries = reportRuns(runs, pods, {
    container: jobContainer,
    previous: job.status?.runs,
    triggerOf: ({ metadata }) => (metadata.labels?.[roleLabel] === 'cron' ? 'schedule' : 'manual'),
  });
  const active = countActive(entries);
  return {
    ...(generation !== undefined && { observedGeneration: generation }),
    phase: phaseOf(job, active, wait),
    ...(wait && { message: wait.message }),
    active,
    runs: entries,
    ...currentBindingStatuses(job),
    conditions: mergeConditions(job.status?.conditions, [childrenAdoptedState(generation)], now),
  };
}

function phaseOf({ spec }: JobResource, active: number, wait?: RunWait): NonNullable<JobStatus['phase']> {
  if (active > 0) return 'running';
  if (wait) return wait.failed ? 'failed' : 'pending';
  if (spec.schedule === undefined) return 'ready';
  return spec.suspended ? 'suspended' : 'scheduled';
}
