import type { KubeObject } from '../../runtime/contracts/kubernetes.ts';
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

/** What the builders need of a job. */
export interface JobIdentity {
  id: Id;
  name: string;
  namespace: string;
}

const workloadOf = ({ id, name }: JobIdentity) => ({ kind: 'Job' as const, id, name });

/** The name of a run that was asked for: `<job>-<hex>`. A CronJob's own end in eight digits, so they never meet. */
export function runName(job: string, request: Pick<RunRequest, 'id'>): string {
  return `${job}-${request.id}`;
}

/** The run that one request asks for. Pure. */
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
    // No ttl: gone before its request is taken away, the run would be made again. The controller removes it.
    spec: batchSpec(identity, spec, 'run'),
  };
}

/** The schedule's own object. Pure. */
export function jobSchedule(identity: JobIdentity, spec: JobSpec & { schedule: string }): KubeObject {
  return cronJob({ ...identity, kind: 'Job' }, { ...spec, run: batchSpec(identity, spec, 'cron') });
}

function batchSpec(identity: JobIdentity, spec: JobSpec, role: PodRole): Record<string, unknown> {
  const { volumes, volumeMounts } = mountedVolumes(spec.volumes);
  return {
    backoffLimit: spec.retries,
    ...(spec.timeoutSeconds !== undefined && { activeDeadlineSeconds: spec.timeoutSeconds }),
    template: {
      metadata: { labels: podLabels(workloadOf(identity), role) },
      spec: {
        // A new pod for each attempt, so that the log of every failure stays.
        restartPolicy: 'Never',
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        terminationGracePeriodSeconds: graceSeconds,
        // Ordinary images run as root and change user themselves: an environment enforces `baseline`, not `restricted`.
        securityContext: { seccompProfile: { type: 'RuntimeDefault' } },
        containers: [
          {
            name: jobContainer,
            image: spec.image,
            ...(spec.command && { command: spec.command }),
            // An empty value is not stored, and would differ from what was asked for.
            ...(spec.env && { env: spec.env.map(({ name, value }) => ({ name, ...(value !== '' && { value }) })) }),
            resources: resourcesOf(spec),
            // With the last lines in the pod's status, a failed run can say why.
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

/** Without limits the environment's defaults hold; a request is as high as the limit, so that it is never above. */
function resourcesOf({ cpu, memory }: JobSpec): { requests?: object; limits?: object } {
  const limits = {
    ...(cpu !== undefined && { cpu: canonicalCpu(cpu) }),
    ...(memory !== undefined && { memory: canonicalBytes(memory) }),
  };
  return Object.keys(limits).length === 0 ? {} : { requests: limits, limits };
}
