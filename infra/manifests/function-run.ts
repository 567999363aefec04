import type { V1CronJob, V1JobSpec } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import type { FunctionSpec } from '../../runtime/contracts/resources/function.ts';
import type { RunRequest } from '../../runtime/contracts/resources/run.ts';
import { podLabels, runLabel } from '../../runtime/domain/labels.ts';
import { testRunName } from '../../runtime/domain/names.ts';
import { defaultTimeZone } from '../../runtime/domain/schedule.ts';
import { cronJob, requestedByAnnotation, type BatchJob } from './batch.ts';
import { workloadOf, type FunctionIdentity } from './function-identity.ts';
import { functionPod, type FunctionWorkload, type RunWith } from './function-pod.ts';

/** How long a finished test run is kept, in seconds (docs/reference/functions.md#test-runs). */
export const testRunTtlSeconds = 600;

/** How many succeeded and how many failed runs of a schedule are kept, and for how long: a week. */
const historyLimit = 5;
const retentionSeconds = 604_800;

/** A function with a schedule. */
export type ScheduledFunction = FunctionWorkload & Pick<FunctionSpec, 'timeZone' | 'overlap'> & { schedule: string };

/** The CronJob of a function, which starts its runs on schedule. Pure. */
export function functionSchedule(
  identity: FunctionIdentity,
  spec: ScheduledFunction,
  runWith: RunWith,
): BuiltIn<V1CronJob, 'spec'> {
  const { schedule, timeZone = defaultTimeZone, overlap = 'Forbid' } = spec;
  return cronJob(
    { ...workloadOf(identity), namespace: identity.namespace },
    {
      schedule,
      timeZone,
      overlap,
      suspended: false,
      historyLimit,
      retentionSeconds,
      run: batchSpec(identity, spec, runWith, 'cron'),
    },
  );
}

/** The test run of a request: like a scheduled run, but immediate. Pure. */
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
    // Its time to live is set once its request is deleted: a run that is removed earlier would be created again.
    spec: batchSpec(identity, spec, runWith, 'test'),
  };
}

function batchSpec(
  identity: FunctionIdentity,
  spec: ScheduledFunction,
  runWith: RunWith,
  role: 'cron' | 'test',
): Json<V1JobSpec> {
  return {
    // A failed run is not repeated: the code may have done half of its work, and the next run is scheduled anyway.
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
