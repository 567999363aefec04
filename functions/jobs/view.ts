import type { JobView, RunView } from '../../runtime/contracts/api/jobs.ts';
import type { Stored } from '../../runtime/contracts/kubernetes.ts';
import type { JobResource, JobRun } from '../../runtime/contracts/resources/job.ts';
import { lastOutOfMemory } from '../../runtime/contracts/resources/out-of-memory.ts';
import { nextTimes, parseSchedule } from '../../runtime/domain/schedule.ts';
import { workloadIdOf } from '../../runtime/host/workload-objects.ts';
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
  const deleting = metadata.deletionTimestamp !== undefined;
  const nextRunAt = deleting ? undefined : nextRun(job, now);
  const [lastRun] = runViews(job);
  const killed = lastOutOfMemory(status);
  return {
    id: workloadIdOf(job),
    name: metadata.name,
    project,
    environment,
    image,
    ...(command && { command }),
    env: Object.fromEntries((spec.env ?? []).map(({ name, value }) => [name, value])),
    volumes: spec.volumes ?? [],
    ...(memory !== undefined && { memory }),
    ...(cpu !== undefined && { cpu }),
    ...(schedule !== undefined && { schedule }),
    ...{ timeZone, overlap, suspended, retries, historyLimit },
    ...(timeoutSeconds !== undefined && { timeoutSeconds }),
    status: deleting ? 'deleting' : (status?.phase ?? 'pending'),
    ...(status?.message !== undefined && { message: status.message }),
    ...(killed && { outOfMemory: killed }),
    ...(nextRunAt && { nextRunAt: nextRunAt.toISOString() }),
    ...(lastRun && { lastRun }),
    createdAt: metadata.creationTimestamp ?? new Date(0).toISOString(),
  };
}

/** The job's runs, newest first: those that were asked for and are not made yet, and those that the controller saw. */
export function runViews({ metadata, spec, status }: Stored<JobResource>): RunView[] {
  const seen = (status?.runs ?? []).map(runToView);
  const names = new Set(seen.map(({ name }) => name));
  const asked = (spec.runRequests ?? [])
    .map(({ id, at, by }): RunView => ({
      name: `${metadata.name}-${id}`,
      trigger: 'manual',
      status: 'pending',
      ...(by !== undefined && { actor: by }),
      createdAt: at,
    }))
    .filter(({ name }) => !names.has(name));
  return [...asked.toReversed(), ...seen];
}

function runToView({ state, by, ...run }: JobRun): RunView {
  return { ...run, status: state, ...(by !== undefined && { actor: by }) };
}

function nextRun({ spec }: JobResource, now: Date): Date | undefined {
  if (spec.schedule === undefined || spec.suspended) return undefined;
  try {
    return nextTimes(parseSchedule(spec.schedule), spec.timeZone, now, 1)[0];
  } catch {
    // Kubernetes may know a schedule that came by kubectl and is not known here.
    return undefined;
  }
}
