import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { nextTimes, parseSchedule } from '../../../runtime/domain/schedule.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import { isKubeError, type KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { endOf } from './job.ts';
import { timestamp, type BatchJob, type CronJob } from './objects.ts';
import { childrenOf, controlledBy, controlled, remove } from './pods.ts';

const minuteMs = 60_000;
/** Times that are looked through at once for the last one that was missed. */
const stride = 1000;

/**
 * Makes a Job at each time of a CronJob, named after the minute, so that a pass that is repeated finds it there. Of times
 * that were missed only the last is made up for, unless that is longer ago than `startingDeadlineSeconds`.
 */
export function cronJobController(kube: KubeClient, clock: Clock): ControllerDefinition<CronJob> {
  const start = async (cron: Stored<CronJob>, at: Date, active: readonly Stored<BatchJob>[]): Promise<boolean> => {
    const { concurrencyPolicy = 'Allow' } = cron.spec;
    if (concurrencyPolicy === 'Forbid' && active.length > 0) return false;
    if (concurrencyPolicy === 'Replace') for (const job of active) await remove(kube, job);
    await kube.create(jobOf(cron, at)).catch((error: unknown) => {
      if (!isKubeError(error, 409)) throw error;
    });
    return true;
  };

  const prune = async (jobs: readonly Stored<BatchJob>[], limit: number) => {
    const born = ({ metadata }: BatchJob) => `${metadata.creationTimestamp}/${metadata.name}`;
    const oldest = jobs.toSorted((a, b) => born(a).localeCompare(born(b)));
    for (const job of oldest.slice(0, Math.max(0, oldest.length - limit))) await remove(kube, job);
  };

  return {
    name: 'cron-job',
    kind: kinds.CronJob,
    watches: [childrenOf(kinds.BatchJob, kinds.CronJob)],
    async reconcile({ object: cron }) {
      if (!cron || cron.metadata.deletionTimestamp !== undefined) return {};
      const { spec, status = {} } = cron;
      const now = clock.now();
      const jobs = await controlled<BatchJob>(kube, kinds.BatchJob, cron);
      await prune(
        jobs.filter((job) => endOf(job) === 'Complete'),
        spec.successfulJobsHistoryLimit ?? 3,
      );
      await prune(
        jobs.filter((job) => endOf(job) === 'Failed'),
        spec.failedJobsHistoryLimit ?? 1,
      );
      const active = jobs.filter((job) => endOf(job) === undefined && job.metadata.deletionTimestamp === undefined);
      const schedule = parseSchedule(spec.schedule);
      const timeZone = spec.timeZone ?? 'Etc/UTC';
      const since = Date.parse(status.lastScheduleTime ?? cron.metadata.creationTimestamp ?? now.toISOString());
      const earliest = Math.max(since, now.getTime() - (spec.startingDeadlineSeconds ?? Infinity) * 1000);
      const due = spec.suspend
        ? undefined
        : lastUpTo(now, (after) => nextTimes(schedule, timeZone, after, stride), earliest);
      const started = due !== undefined && (await start(cron, due, active));
      const after = started ? await controlled<BatchJob>(kube, kinds.BatchJob, cron) : jobs;
      await writeStatus(kube, cron, {
        ...status,
        active: after.filter((job) => endOf(job) === undefined).map(referenceTo),
        ...(started && { lastScheduleTime: timestamp(due) }),
        ...lastSuccess(jobs),
      });
      const [next] = spec.suspend ? [] : nextTimes(schedule, timeZone, now, 1);
      return next === undefined ? {} : { requeueAfterMs: next.getTime() - now.getTime() + 100 };
    },
  };
}

/** The last time that is not after `now`, of those after `earliest`. */
function lastUpTo(now: Date, timesAfter: (after: Date) => Date[], earliest: number): Date | undefined {
  let last: Date | undefined;
  for (;;) {
    const times = timesAfter(last ?? new Date(earliest));
    const past = times.filter((time) => time <= now);
    last = past.at(-1) ?? last;
    if (past.length < times.length || times.length === 0) return last;
  }
}

function jobOf(cron: Stored<CronJob>, at: Date): BatchJob {
  const { metadata, spec } = cron.spec.jobTemplate;
  const { name, namespace } = cron.metadata;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: `${name}-${Math.floor(at.getTime() / minuteMs)}`,
      ...(namespace !== undefined && { namespace }),
      ...(metadata?.labels && { labels: metadata.labels }),
      annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': timestamp(at) },
      ownerReferences: [controlledBy(cron)],
    },
    spec: structuredClone(spec),
  };
}

function referenceTo({ apiVersion, kind, metadata: { name, namespace, uid } }: Stored<BatchJob>): object {
  return { apiVersion, kind, name, namespace, uid };
}

function lastSuccess(jobs: readonly BatchJob[]): { lastSuccessfulTime?: string } {
  const times = jobs.flatMap(({ status }) => status?.completionTime ?? []);
  const last = times.toSorted().at(-1);
  return last === undefined ? {} : { lastSuccessfulTime: last };
}
