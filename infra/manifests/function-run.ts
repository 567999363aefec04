import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { RunRequest } from '../../runtime/contracts/resources/run.ts';
import { podLabels } from '../../runtime/domain/labels.ts';
import { testRunName } from '../../runtime/domain/names.ts';
import { defaultTimeZone } from '../../runtime/domain/schedule.ts';
import { cronJob, requestedByAnnotation, runLabel, type BatchJob } from './batch.ts';
import { workloadOf, type FunctionIdentity } from './function-identity.ts';
import { functionPod, type FunctionWorkload, type RunWith } from './function-pod.ts';

/** A test run is removed so long after its end (spec.md §4.8). */
export const testRunTtlSeconds = 600;

/** Ended runs of the schedule that are kept, succeeded and failed each, and for how long: a week. */
const historyLimit = 5;
const retentionSeconds = 604_800;

/** What the builders need of a cron function. */
export type ScheduledFunction = FunctionWorkload & Pick<FunctionSpec, 'timeZone' | 'overlap'> & { schedule: string };

/** A cron function's CronJob, which makes its runs at their times. Pure. */
export function functionSchedule(identity: FunctionIdentity, spec: ScheduledFunction, runWith: RunWith): KubeObject {
  const { schedule, timeZone = defaultTimeZone, overlap = 'Forbid' } = spec;
  return cronJob(
    { ...workloadOf(identity), namespace: identity.namespace },
    {
      ...{ schedule, timeZone, overlap, suspended: false, historyLimit, retentionSeconds },
      run: batchSpec(identity, spec, runWith, 'cron'),
    },
  );
}

/** The test run that one request asks for: like a scheduled run, but once and now. Pure. */
export function testRun(
  identity: FunctionIdentity,
  spec: ScheduledFunction,
  runWith: RunWith,
  request: RunRequest,
): BatchJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: testRunName(identity.name, request.id),
      namespace: identity.namespace,
      labels: podLabels(workloadOf(identity), 'test'),
      ...(request.by !== undefined && { annotations: { [requestedByAnnotation]: request.by } }),
    },
    // Its ttl comes once its request is gone: removed before that, it would be made again.
    spec: batchSpec(identity, spec, runWith, 'test'),
  };
}

function batchSpec(
  identity: FunctionIdentity,
  spec: ScheduledFunction,
  runWith: RunWith,
  role: 'cron' | 'test',
): Record<string, unknown> {
  return {
    // A failure is one failed run: the code may have done half of its work, and the next time comes.
    backoffLimit: 0,
    template: {
      metadata: { labels: podLabels(workloadOf(identity), role) },
      spec: {
        restartPolicy: 'Never',
        ...functionPod(identity, spec, {
          ...runWith,
          env: [
            { name: 'SVC_MODE', value: 'batch' },
            { name: 'SVC_TRIGGER', value: role },
            { name: 'SVC_SCHEDULE', value: spec.schedule },
            { name: 'SVC_RUN', valueFrom: { fieldRef: { fieldPath: `metadata.labels['${runLabel}']` } } },
          ],
        }),
      },
    },
  };
}
