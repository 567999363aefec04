import type { JobView } from '../../runtime/contracts/api/jobs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource, JobRun } from '../../runtime/contracts/resources/job.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { describeSchedule } from '../../runtime/domain/schedule-description.ts';
import { upcomingTimes } from '../../runtime/domain/schedule.ts';
import { shortBindings } from '../../runtime/api/binding-routes.ts';
import { runViews, type RunView } from '../../runtime/api/run-views.ts';
import { bindingWait } from '../../runtime/workloads/bindings.ts';
import { shownIdOf } from '../../runtime/workloads/objects.ts';
import type { Environment } from '../../runtime/kube/environments.ts';

/** A job as the API shows it. */
export function jobToView(
  job: Stored<JobResource>,
  { project, environment }: Pick<Environment, 'project' | 'environment'>,
  now: Date,
): JobView {
  const { metadata, spec, status } = job;
  const { image, command, memory, cpu, schedule, timeoutSeconds } = spec;
  const { timeZone, overlap, suspended, retries, historyLimit } = spec;
  const scheduleDescription = schedule === undefined ? undefined : describeSchedule(schedule);
  const deleting = metadata.deletionTimestamp !== undefined;
  const nextRunAt = deleting ? undefined : nextRun(job, now);
  const [lastRun] = jobRuns(job);
  const outOfMemory = lastOutOfMemory(status);
  return {
    id: shownIdOf(job),
    name: metadata.name,
    project,
    environment,
    image,
    ...(command && { command }),
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    ...shortBindings(job),
    volumes: spec.volumes ?? [],
    ...(memory !== undefined && { memory }),
    ...(cpu !== undefined && { cpu }),
    ...(schedule !== undefined && { schedule }),
    ...(scheduleDescription !== undefined && { scheduleDescription }),
    timeZone,
    overlap,
    suspended,
    retries,
    historyLimit,
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    status: deleting ? 'deleting' : (status?.phase ?? 'pending'),
    ...(status?.message !== undefined && { message: status.message }),
    ...(outOfMemory && { outOfMemory }),
    ...(nextRunAt && { nextRunAt: nextRunAt.toISOString() }),
    ...(lastRun && { lastRun }),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}

/** The job's runs, newest first. A requested run says which binding it waits for. */
export function jobRuns(job: Stored<JobResource>): RunView<JobRun['trigger']>[] {
  const message = bindingWait(job)?.message;
  return runViews(job, ({ id }) => ({
    name: `${job.metadata.name}-${id}`,
    trigger: 'manual',
    ...(message !== undefined && { message }),
  }));
}

function nextRun({ spec }: JobResource, now: Date): Date | undefined {
  if (spec.schedule === undefined || spec.suspended) return undefined;
  return upcomingTimes(spec.schedule, spec.timeZone, now, 1)[0];
}
