import { z } from 'zod';
import { jobOverlaps, runStates, runTriggers } from '../resources/job.ts';
import { outOfMemory, timestamp, variables } from './common.ts';
import { mount } from './volumes.ts';

const settings = {
  image: z.string(),
  /** Program and arguments instead of the image's own. */
  command: z.array(z.string().max(32_768)).min(1).max(100),
  env: variables,
  volumes: z.array(mount).max(20),
  /** Limits such as `512Mi` and `500m`; default: the environment's. */
  memory: z.string().max(22),
  cpu: z.string().max(22),
  /** A cron expression of five fields. */
  schedule: z.string().max(200),
  /** IANA name; default Etc/UTC. */
  timeZone: z.string().max(100),
  /** What happens to a scheduled run while the one before still goes on; default Forbid. */
  overlap: z.enum(jobOverlaps),
  /** Whether the schedule rests. */
  suspended: z.boolean(),
  retries: z.int().min(0).max(10),
  timeoutSeconds: z.int().min(1).max(2_592_000),
  historyLimit: z.int().min(1).max(20),
};

/** `POST /api/v1/projects/{p}/jobs` */
export const jobCreate = z.strictObject({
  name: z.string(),
  ...z.object(settings).partial().required({ image: true }).shape,
});

const { command, env, volumes, memory, cpu, schedule, timeoutSeconds, ...kept } = settings;
const removable = { command, env, volumes, memory, cpu, schedule, timeoutSeconds };

/** `PATCH /api/v1/projects/{p}/jobs/{j}`: null removes; `env` and `volumes` replace what was there. Later runs have it. */
export const jobUpdate = z
  .strictObject({
    ...kept,
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
export const runView = z.object({
  name: z.string(),
  trigger: z.enum(runTriggers),
  status: z.enum(runStates),
  /** Who asked for it. */
  actor: z.string().optional(),
  createdAt: timestamp,
  startedAt: timestamp.optional(),
  endedAt: timestamp.optional(),
  message: z.string().optional(),
});

export type RunView = z.infer<typeof runView>;

export const jobView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  image: z.string(),
  command: z.array(z.string()).optional(),
  env: z.record(z.string(), z.string()),
  volumes: z.array(mount),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  schedule: z.string().optional(),
  timeZone: z.string(),
  overlap: z.enum(jobOverlaps),
  suspended: z.boolean(),
  retries: z.int(),
  timeoutSeconds: z.int().optional(),
  historyLimit: z.int(),
  status: z.enum(['pending', 'ready', 'scheduled', 'suspended', 'running', 'failed', 'deleting']),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  /** When the schedule is due next; absent while it rests. */
  nextRunAt: timestamp.optional(),
  lastRun: runView.optional(),
  createdAt: timestamp,
});

export type JobView = z.infer<typeof jobView>;

/** 202 of `POST /api/v1/projects/{p}/jobs/{j}/runs` */
export const runAccepted = z.object({ id: z.string(), status: z.literal('pending'), statusUrl: z.string() });

/** `GET /api/v1/projects/{p}/jobs/{j}/logs`: of the newest run, or of `run`. */
export const logsQuery = z.object({
  run: z.string().max(63).optional(),
  /** Lines from the end, of each attempt. */
  tail: z.coerce.number().int().min(1).max(10_000).default(1000),
});

export const jobLogs = z.object({
  run: z.string(),
  /** The run's attempts, oldest first; `log` is absent before the container has started. */
  pods: z.array(z.object({ name: z.string(), log: z.string().optional() })),
});
