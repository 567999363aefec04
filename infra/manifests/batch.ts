import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { runOverlaps } from '../../runtime/contracts/resources/run.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { apiGroup, podLabels, workloadLabels } from '../../runtime/domain/labels.ts';
import type { WorkloadKind } from '../../runtime/domain/names.ts';

/** On a run that somebody asked for: who. */
export const requestedByAnnotation = `${apiGroup}/requested-by`;
/** The cluster's label on the pods of a batch Job: the Job's name. */
export const runLabel = 'batch.kubernetes.io/job-name';
/** A time that is missed by more than this is left out: after an outage nobody wants last night's runs all at once. */
const startingDeadlineSeconds = 300;

/** What the platform reads of a batch Job. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/job-v1/ */
export interface BatchJob extends KubeObject {
  spec: Record<string, unknown>;
  status?: {
    active?: number;
    ready?: number;
    succeeded?: number;
    failed?: number;
    startTime?: string;
    completionTime?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string; lastTransitionTime?: string }[];
  };
}

export interface Scheduled {
  schedule: string;
  timeZone: string;
  overlap: (typeof runOverlaps)[number];
  suspended: boolean;
  /** Ended runs that are kept, so many succeeded and so many failed. */
  historyLimit: number;
  /** Seconds that an ended run is kept at most. */
  retentionSeconds: number;
  /** The spec of each run's batch Job. */
  run: Record<string, unknown>;
}

/** A schedule's own object, named after its workload, which makes the runs at their times. Pure. */
export function cronJob(
  { namespace, ...workload }: { kind: WorkloadKind; id: Id; name: string; namespace: string },
  { schedule, timeZone, overlap, suspended, historyLimit, retentionSeconds, run }: Scheduled,
): KubeObject {
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
