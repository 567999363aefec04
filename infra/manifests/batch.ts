import type { V1CronJob, V1Job, V1JobSpec } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import type { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup, podLabels, workloadLabels } from '../../runtime/domain/labels.ts';
import type { WorkloadKind } from '../../runtime/domain/names.ts';

/** On a run that a user requested: the user's e-mail address. */
export const requestedByAnnotation = `${apiGroup}/requested-by`;
/** A run that is late by more than this is skipped, so that an outage is not followed by all runs that it prevented. */
const startingDeadlineSeconds = 300;

/** https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/ */
export type BatchJob = BuiltIn<V1Job, 'spec'>;

export interface Scheduled {
  schedule: string;
  timeZone: string;
  overlap: (typeof runOverlaps)[number];
  suspended: boolean;
  /** How many succeeded runs are kept, and how many failed ones. */
  historyLimit: number;
  /** The longest time that a finished run is kept, in seconds. */
  retentionSeconds: number;
  /** The spec of each run's batch Job. */
  run: Json<V1JobSpec>;
}

/** The CronJob of a workload, which has its name and starts the runs on schedule. Pure. */
export function cronJob(
  { namespace, ...workload }: { kind: WorkloadKind; id: Id; name: string; namespace: string },
  { schedule, timeZone, overlap, suspended, historyLimit, retentionSeconds, run }: Scheduled,
): BuiltIn<V1CronJob, 'spec'> {
  return {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: workload.name, namespace, labels: workloadLabels(workload) },
    spec: {
      schedule,
      timeZone,
      concurrencyPolicy: overlap,
      suspend: suspended,
      startingDeadlineSeconds,
      successfulJobsHistoryLimit: historyLimit,
      failedJobsHistoryLimit: historyLimit,
      jobTemplate: {
        metadata: { labels: podLabels(workload, 'cron') },
        spec: { ...run, ttlSecondsAfterFinished: retentionSeconds },
      },
    },
  };
}
