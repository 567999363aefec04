import type { V1CronJob, V1JobSpec, V1ResourceRequirements } from '@kubernetes/client-node';
import type { BuiltIn, Json } from '../../runtime/contracts/kubernetes.ts';
import type { JobSpec } from '../../runtime/contracts/resources/job.ts';
import type { RunRequest } from '../../runtime/contracts/resources/run.ts';
import type { Id } from '../../runtime/domain/ids.ts';
import { canonicalBytes, canonicalCpu } from '../../runtime/domain/quantity.ts';
import { podLabels, type PodRole } from '../../runtime/domain/labels.ts';
import type { Variable } from '../../runtime/domain/variables.ts';
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

/** The environment variables of a run: in the immutable Secret of this name, or in the object itself. */
export interface RunEnvironment {
  envSecret?: string | undefined;
  env?: readonly Variable[] | undefined;
}

const workloadOf = ({ id, name }: JobIdentity) => ({ kind: 'Job' as const, id, name });

/** The name of a requested run, `<job>-<hex>`. Names of scheduled runs end in eight digits, so the two never collide. */
export function runName(job: string, request: Pick<RunRequest, 'id'>): string {
  return `${job}-${request.id}`;
}

/** The run of a request. Pure. */
export function runJob(
  identity: JobIdentity,
  spec: JobSpec,
  environment: RunEnvironment,
  request: RunRequest,
): BatchJob {
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
    spec: batchSpec(identity, spec, { environment, role: 'run' }),
  };
}

/** The CronJob of a job. Pure. */
export function jobSchedule(
  identity: JobIdentity,
  spec: JobSpec & { schedule: string },
  environment: RunEnvironment,
): BuiltIn<V1CronJob, 'spec'> {
  const run = batchSpec(identity, spec, { environment, role: 'cron' });
  return cronJob({ ...identity, kind: 'Job' }, { ...spec, run });
}

function batchSpec(
  identity: JobIdentity,
  spec: JobSpec,
  { environment, role }: { environment: RunEnvironment; role: PodRole },
): Json<V1JobSpec> {
  const { env, envSecret } = environment;
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
            ...(envSecret !== undefined && { envFrom: [{ secretRef: { name: envSecret } }] }),
            ...(env && { env: env.map(literalVariable) }),
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

/**
 * A variable whose value Kubernetes does not expand. The API server drops an empty value; sending one would look like a
 * difference in every comparison.
 * https://kubernetes.io/docs/tasks/inject-data-application/define-interdependent-environment-variables/
 */
function literalVariable({ name, value }: Variable): { name: string; value?: string } {
  return { name, ...(value !== '' && { value: value.replaceAll('$', '$$$$') }) };
}

/** Without limits, the environment's defaults apply. A request equals its limit, so that a default never exceeds it. */
function resourcesOf({ cpu, memory }: JobSpec): V1ResourceRequirements {
  const limits = {
    ...(cpu !== undefined && { cpu: canonicalCpu(cpu) }),
    ...(memory !== undefined && { memory: canonicalBytes(memory) }),
  };
  return Object.keys(limits).length === 0 ? {} : { requests: limits, limits };
}
