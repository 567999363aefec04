import type { Stored } from '../../../runtime/contracts/kubernetes.ts';
import { kinds } from '../../../runtime/contracts/resources/kinds.ts';
import type { Clock } from '../../../runtime/domain/clock.ts';
import { nextTimes, parseSchedule } from '../../../runtime/domain/schedule.ts';
import { controllerOf } from '../../../runtime/kube/children.ts';
import type { ControllerDefinition } from '../../../runtime/kube/controller.ts';
import type { KubeClient } from '../../../runtime/kube/kube-client.ts';
import { writeStatus } from '../../../runtime/kube/status.ts';
import { finishedCondition } from './job.ts';
import { timestamp, type BatchJob, type CronJob } from './objects.ts';
import { namespaceOf, childrenOf, createOnce, listControlled, ownerReferenceTo, remove } from './pods.ts';

const minuteMs = 60_000;

/**
 * Creates a Job at each time of a CronJob's schedule. The Job's name contains the minute, so that a repeated reconcile
 * does not create it twice. Of several missed times, only the last one gets a Job, and only within
 * `startingDeadlineSeconds` (default one hour).
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
    const creationKey = ({ metadata }: BatchJob) => `${metadata.creationTimestamp}/${metadata.name}`;
    const oldest = jobs.toSorted((a, b) => creationKey(a).localeCompare(creationKey(b)));
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
      const { items } = await kube.list<BatchJob>(kinds.BatchJob, namespaceOf(cron));
      const jobs = items.filter((job) => controllerOf(job)?.uid === cron.metadata.uid);
      // The real controller compares only the owner's name, so it also removes the Jobs of another object of that name.
      const namesakes = items.filter((job) => controllerOf(job)?.name === cron.metadata.name);
      const jobsWith = (type: string) => namesakes.filter((job) => finishedCondition(job)?.type === type);
      await prune(jobsWith('Complete'), spec.successfulJobsHistoryLimit ?? 3);
      await prune(jobsWith('Failed'), spec.failedJobsHistoryLimit ?? 1);
      const active = jobs.filter((job) => !finishedCondition(job) && job.metadata.deletionTimestamp === undefined);
      const timesAfter = (after: number, count: number) =>
        spec.suspend ? [] : nextTimes(parseSchedule(spec.schedule), spec.timeZone ?? 'Etc/UTC', new Date(after), count);
      const lateMs = (spec.startingDeadlineSeconds ?? 3600) * 1000;
      const last = Date.parse(status.lastScheduleTime ?? cron.metadata.creationTimestamp ?? '');
      const missed = timesAfter(Math.max(last, now.getTime() - lateMs), Math.ceil(lateMs / minuteMs) + 1);
      const due = missed.findLast((time) => time <= now);
      const started = due !== undefined && (await start(cron, due, active));
      const current = started ? await listControlled<BatchJob>(kube, kinds.BatchJob, cron) : jobs;
      const successTimes = jobs.flatMap((job) => job.status?.completionTime ?? []).toSorted();
      await writeStatus(kube, cron, {
        ...status,
        active: current.filter((job) => !finishedCondition(job)).map(referenceTo),
        ...(started && { lastScheduleTime: timestamp(due) }),
        ...(successTimes.length > 0 && { lastSuccessfulTime: successTimes.at(-1) }),
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
      ...namespaceOf(cron),
      annotations: { ...metadata?.annotations, 'batch.kubernetes.io/cronjob-scheduled-timestamp': timestamp(at) },
      ownerReferences: [ownerReferenceTo(cron)],
    },
    spec: structuredClone(spec),
  };
}

function referenceTo({ apiVersion, kind, metadata: { name, namespace, uid } }: Stored<BatchJob>): object {
  return { apiVersion, kind, name, namespace, uid };
}
