import type { V1CronJob, V1JobSpec, V1ResourceRequirements } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import type { JobSpec } from '../../runtime/contracts/resources/job.ts';
import type { RunRequest } from '../../runtime/contracts/resources/run.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { canonicalBytes, canonicalCpu } from '../../runtime/domain/quantity.ts';
import { podLabels, type PodRole } from '../../runtime/domain/labels.ts';
import { cronJob, requestedByAnnotation, type BatchJob } from './batch.ts';
import { mountedVolumes } from './volume.ts';

/** The name of the container that runs the job's program. */
export const jobContainer = 'job';
const graceSeconds = 30;

/** What identifies a job. */
export interface JobIdentity {
  id: Id;
  name: string;
  namespace: string;
}

const workloadOf = ({ id, name }: JobIdentity) => ({ kind: 'Job' as const, id, name });

/** The name of a requested run, `<job>-<hex>`. Names of scheduled runs end in eight digits, so the two never collide. */
export function runName(job: string, request: Pick<RunRequest, 'id'>): string {
  return `${job}-${request.id}`;
}

/** The run of a request. Pure. */
export function runJob(identity: JobIdentity, spec: JobSpec, request: RunRequest): BatchJob {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name: runName(identity.name, request),
      namespace: identity.namespace,
      labels: podLabels(workloadOf(identity), 'run'),
      ...(request.by !== undefined && { annotations: { [requestedByAnnotation]: request.by } }),
    },
    // No time to live: a run that is removed before its request would be created again. The controller deletes it.
    spec: batchSpec(identity, spec, 'run'),
  };
}

/** The CronJob of a job. Pure. */
export function jobSchedule(identity: JobIdentity, spec: JobSpec & { schedule: string }): BuiltIn<V1CronJob, 'spec'> {
  return cronJob({ ...identity, kind: 'Job' }, { ...spec, run: batchSpec(identity, spec, 'cron') });
}

function batchSpec(identity: JobIdentity, spec: JobSpec, role: PodRole): Json<V1JobSpec> {
  const { volumes, volumeMounts } = mountedVolumes(spec.volumes);
  return {
    backoffLimit: spec.retries,
    ...(spec.timeoutSeconds !== undefined && { activeDeadlineSeconds: spec.timeoutSeconds }),
    template: {
      metadata: { labels: podLabels(workloadOf(identity), role) },
      spec: {
        // Each attempt is a new pod, so that the log of every failure is kept.
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: graceSeconds,
        // Ordinary images start as root and change user themselves, so an environment enforces `baseline`, not `restricted`.
        securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: jobContainer,
            image: spec.image,
            ...(spec.command && { command: spec.command }),
            // The API server drops an empty value; sending one would look like a difference in every comparison.
            ...(spec.env && { env: spec.env.map(({ name, value }) => ({ name, ...(value !== '' && { value }) })) }),
            resources: resourcesOf(spec),
            // Puts the last log lines into the pod's status, where a failed run finds the reason.
            terminationMessagePolicy: 'FallbackToLogsOnError',
            securityContext: { allowPrivilegeEscalation: false },
            ...(volumeMounts.length > 0 && { volumeMounts }),
          },
        ],
        ...(volumes.length > 0 && { volumes }),
      },
    },
  };
}

/** Without limits, the environment's defaults apply. A request equals its limit, so that a default never exceeds it. */
function resourcesOf({ cpu, memory }: JobSpec): V1ResourceRequirements {
  const limits = {
    ...(cpu !== undefined && { cpu: canonicalCpu(cpu) }),
    ...(memory !== undefined && { memory: canonicalBytes(memory) }),
  };
  return Object.keys(limits).length === 0 ? {} : { requests: limits, limits };
}
