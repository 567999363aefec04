import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';
import { defaultTimeZone } from '../../domain/schedule.ts';
import { binding, bindingsMax, type BindingStatus } from './binding.ts';
import { runOverlaps, runRequest, runRequestsMax, type Run } from './run.ts';
import { volumeMount } from './volume.ts';

export const jobSpec = z.object({
  image: z.string(),
  /** Program and arguments; default: the image's. */
  command: z.array(z.string()).max(100).optional(),
  /** Its bindings; runs wait until they are ready. `boundServices` omits those that are being removed. */
  bindings: z.array(binding).max(bindingsMax).optional(),
  /** Variables; `${NAME}` refers to another one, a secret or a variable of a binding. */
  env: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(200)
    .optional(),
  volumes: z.array(volumeMount).max(20).optional(),
  /** The container's limits, as Kubernetes quantities; default: the environment's. */
  memory: z.string().optional(),
  cpu: z.string().optional(),
  /** A cron expression with five fields; without it, the job only runs on request. */
  schedule: z.string().optional(),
  /** The IANA time zone of the schedule. */
  timeZone: z.string().default(defaultTimeZone),
  overlap: z.enum(runOverlaps).default('Forbid'),
  /** Whether the schedule is suspended; requested runs still start. */
  suspended: z.boolean().default(false),
  /** Number of retries of a failed run. */
  retries: z.int().min(0).max(10).default(0),
  /** Seconds after which a run fails. */
  timeoutSeconds: z.int().min(1).max(2_592_000).optional(),
  /** Ended runs to keep: this many succeeded and this many failed ones, for scheduled and requested runs each. */
  historyLimit: z.int().min(1).max(20).default(5),
  /** Maximum seconds to keep an ended run; default seven days. */
  retentionSeconds: z.int().min(60).max(31_536_000).default(604_800),
  /** Changes with every change of the job's secrets; absent before the first. */
  secretsRevision: z.uuid().optional(),
  runRequests: z.array(runRequest).max(runRequestsMax).optional(),
});

export type JobSpec = z.infer<typeof jobSpec>;

export const jobTriggers = ['manual', 'schedule'] as const;

export type JobRun = Run<(typeof jobTriggers)[number]>;

export interface JobStatus {
  observedGeneration?: number;
  /** `ready`: waits for a request; `scheduled`: waits for the next scheduled time. */
  phase?: 'pending' | 'ready' | 'scheduled' | 'suspended' | 'running' | 'failed' | 'deleting';
  message?: string;
  /** Runs that have not ended. */
  active?: number;
  /** Newest first. */
  runs?: JobRun[];
  bindings?: BindingStatus[];
  conditions?: Condition[];
}

export interface JobResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Job';
  spec: JobSpec;
  status?: JobStatus;
}
