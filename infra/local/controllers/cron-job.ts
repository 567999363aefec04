import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { nextTimes, parseSchedule } from '../../../runtime/domain/schedule.ts';
import { controllerOf } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { endOf } from './job.ts';
import { timestamp, type BatchJob, type CronJob } from './objects.ts';
import { beside, childrenOf, controlledBy, controlled, createOnce, remove } from './pods.ts';

const minuteMs = 60_000;

/**
 * Makes a Job at each time of a CronJob, named after the minute, so that a pass that is repeated finds it there. Of times
 * that were missed only the last is made up for, unless that is longer ago than `startingDeadlineSeconds` (default: an
 * hour).
 */
export function cronJobController(kube: KubeClient, clock: Clock): ControllerDefinition<CronJob> {
  const start = async (cron: Stored<CronJob>, at: Date, active: readonly Stored<BatchJob>[]): Promise<boolean> => {
    const { concurrencyPolicy = 'Allow' } = cron.spec;
    if (concurrencyPolicy === 'Forbid' && active.length > 0) return false;
    if (concurrencyPolicy === 'Replace') for (const job of active) await remove(kube, job);
    await createOnce(kube, jobOf(cron, at));
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
      const { items } = await kube.list<BatchJob>(kinds.BatchJob, beside(cron));
      const jobs = items.filter((job) => controllerOf(job)?.uid === cron.metadata.uid);
      // The real one goes by the name alone, and so removes what another object of that name controls, too.
      const namesakes = items.filter((job) => controllerOf(job)?.name === cron.metadata.name);
      const ended = (type: string) => namesakes.filter((job) => endOf(job)?.type === type);
      await prune(ended('Complete'), spec.successfulJobsHistoryLimit ?? 3);
      await prune(ended('Failed'), spec.failedJobsHistoryLimit ?? 1);
      const active = jobs.filter((job) => !endOf(job) && job.metadata.deletionTimestamp === undefined);
      const timesAfter = (after: number, count: number) =>
        spec.suspend ? [] : nextTimes(parseSchedule(spec.schedule), spec.timeZone ?? 'Etc/UTC', new Date(after), count);
      const lateMs = (spec.startingDeadlineSeconds ?? 3600) * 1000;
      const last = Date.parse(status.lastScheduleTime ?? cron.metadata.creationTimestamp ?? '');
      const missed = timesAfter(Math.max(last, now.getTime() - lateMs), Math.ceil(lateMs / minuteMs) + 1);
      const due = missed.findLast((time) => time <= now);
      const started = due !== undefined && (await start(cron, due, active));
      const present = started ? await controlled<BatchJob>(kube, kinds.BatchJob, cron) : jobs;
      const lastSuccess = jobs.flatMap((job) => job.status?.completionTime ?? []).toSorted();
      await writeStatus(kube, cron, {
        ...status,
        active: present.filter((job) => !endOf(job)).map(referenceTo),
        ...(started && { lastScheduleTime: timestamp(due) }),
        ...(lastSuccess.length > 0 && { lastSuccessfulTime: lastSuccess.at(-1) }),
      });
      const [next] = timesAfter(now.getTime(), 1);
      return next === undefined ? {} : { requeueAfterMs: next.getTime() - now.getTime() + 100 };
    },
  };
}

function jobOf(cron: Stored<CronJob>, at: Date): BatchJob {
  const { metadata, spec } = cron.spec.jobTemplate;
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      ...metadata,
      name: `${cron.metadata.name}-${Math.floor(at.getTime() / minuteMs)}`,
      ...beside(cron),
      annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': timestamp(at) },
      ownerReferences: [controlledBy(cron)],
    },
    spec: structuredClone(spec),
  };
}

function referenceTo({ apiVersion, kind, metadata: { name, namespace, uid } }: Stored<BatchJob>): object {
  return { apiVersion, kind, name, namespace, uid };
}
