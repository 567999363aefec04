import { z } from 'zod';
import { jobTriggers } from '../resources/job.ts';
import { runOverlaps } from '../resources/run.ts';
import { bindingSummary, newBinding } from './bindings.ts';
import { outOfMemory, timestamp, variables } from './common.ts';
import { runView } from './runs.ts';
import { mount } from './volumes.ts';

/** 30 days. */
export const runTimeoutMaxSeconds = 2_592_000;

const settings = {
  image: z.string(),
  /** Program and arguments; default: the image's. */
  command: z.array(z.string().max(32_768)).min(1).max(100),
  /** Variables; `${NAME}` refers to another variable, a secret or a variable of a binding. */
  env: variables,
  volumes: z.array(mount).max(20),
  /** Limits such as `512Mi` and `500m`; default: the environment's. */
  memory: z.string().max(22),
  cpu: z.string().max(22),
  /** A cron expression with five fields. */
  schedule: z.string().max(200),
  /** IANA time zone; default Etc/UTC. */
  timeZone: z.string().max(100),
  /** What to do when a run is due while the previous one is running; default Forbid. */
  overlap: z.enum(runOverlaps),
  /** Whether the schedule is suspended. */
  suspended: z.boolean(),
  retries: z.int().min(0).max(10),
  timeoutSeconds: z.int().min(1).max(runTimeoutMaxSeconds),
  historyLimit: z.int().min(1).max(20),
};

/** `POST /api/v1/projects/{p}/jobs` */
export const jobCreate = z.strictObject({
  name: z.string(),
  /** Services to bind it to; its runs wait for them. */
  bindings: z.array(newBinding).max(20).optional(),
  /** Its secrets, which its first run gets. */
  secrets: z.record(z.string().max(200), z.string().max(65_536)).optional(),
  ...z.object(settings).partial().required({ image: true }).shape,
});

const { command, env, volumes, memory, cpu, schedule, timeoutSeconds, ...unremovable } = settings;
const removable = { command, env, volumes, memory, cpu, schedule, timeoutSeconds };

/** `PATCH /api/v1/projects/{p}/jobs/{j}`: null removes a field; `env` and `volumes` are replaced as a whole. Applies to later runs. */
export const jobUpdate = z
  .strictObject({
    ...unremovable,
    command: removable.command.nullable(),
    env: removable.env.nullable(),
    volumes: removable.volumes.nullable(),
    memory: removable.memory.nullable(),
    cpu: removable.cpu.nullable(),
    schedule: removable.schedule.nullable(),
    timeoutSeconds: removable.timeoutSeconds.nullable(),
  })
  .partial();

/** One run of a job. */
export const jobRunView = runView(jobTriggers);

export const jobView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()),
  bindings: z.array(bindingSummary).optional(),
  volumes: z.array(mount),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  schedule: z.string().optional(),
  /** The schedule in words; absent if it is not valid. */
  scheduleDescription: z.string().optional(),
  timeZone: z.string(),
  overlap: z.enum(runOverlaps),
  suspended: z.boolean(),
  retries: z.int(),
  timeoutSeconds: z.int().optional(),
  historyLimit: z.int(),
  status: z.enum(['pending', 'ready', 'scheduled', 'suspended', 'running', 'failed', 'deleting']),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  /** The next scheduled time; absent while suspended. */
  nextRunAt: timestamp.optional(),
  lastRun: jobRunView.optional(),
  createdAt: timestamp,
});

export type JobView = z.infer<typeof jobView>;
