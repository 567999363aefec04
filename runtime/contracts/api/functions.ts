import { z } from 'zod';
import { dependenciesMax } from '../../domain/dependencies.ts';
import {
  codeMaxBytes,
  eventTypes,
  functionEvents,
  functionPhases,
  functionReplicasMax,
  functionRuntimes,
  functionRunTriggers,
  functionTriggers,
  idleTimeoutMaxSeconds,
  requestTimeoutMaxSeconds,
  targetRateMax,
} from '../resources/function.ts';
import { runOverlaps } from '../resources/run.ts';
import { gatePhases } from '../resources/public-route.ts';
import { bindingSummary, newBinding } from './bindings.ts';
import { flag, outOfMemory, timestamp, variables } from './common.ts';
import { securityChange, securityView } from './public-route.ts';
import { runView } from './runs.ts';
import { mount } from './volumes.ts';

const eventSettings = functionEvents.shape;

/** The event source of a function: `query` for postgres and mysql, `list` for redis, `bucket` for minio. */
const eventsCreate = z.strictObject({
  /** Default: the function's trigger. */
  type: eventSettings.type.optional(),
  /** The name of a service of that type. The function is bound to it if it is not already. */
  source: eventSettings.source.optional(),
  /** If the function is not yet bound to the service: the database of the new binding; default: its own. */
  database: z.string().max(64).optional(),
  query: eventSettings.query,
  /** Contains `{{id}}` for the row's id. Without this statement a row is delivered once while the query returns it. */
  markDone: eventSettings.markDone,
  list: eventSettings.list,
  bucket: eventSettings.bucket,
  concurrency: eventSettings.concurrency,
});

/** `POST /api/v1/projects/{p}/functions` */
export const functionCreate = z.strictObject({
  name: z.string(),
  /** With `code`. */
  runtime: z.enum(functionRuntimes).optional(),
  code: z
    .string()
    .min(1)
    .refine((code) => Buffer.byteLength(code) <= codeMaxBytes, `must have at most ${codeMaxBytes} bytes`)
    .optional(),
  /** Instead of `runtime` and `code`: a full container image reference. The container listens on `port`. */
  image: z.string().max(512).optional(),
  /** With `code`: packages from the runtime's registry, each as `name@version`. */
  dependencies: z.array(z.string().max(300)).max(dependenciesMax).optional(),
  /** Default `http`, or the type of `events`. With `http` and `events`, the function is called by both. */
  trigger: z.enum(functionTriggers).optional(),
  events: eventsCreate.optional(),
  /** Not with the trigger `cron`, like all settings of pods; default 8080. */
  port: z.int().min(1).max(65_535).optional(),
  /** With the trigger `http`. */
  hostname: z.string().optional(),
  /** With the trigger `http`. */
  security: securityChange.optional(),
  /** Not with `cron`; default 300, and at most 30 if only events call it. */
  idleTimeoutSeconds: z.int().min(1).max(idleTimeoutMaxSeconds).optional(),
  /** With the trigger `http`: maximum concurrent requests to one pod from each interceptor; default 100. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** With the trigger `http`: requests per second of one pod above which another is added; default 200. */
  targetRate: z.int().min(1).max(targetRateMax).optional(),
  /** Not with `cron`: maximum seconds without data before the response starts; default 300. */
  requestTimeoutSeconds: z.int().min(1).max(requestTimeoutMaxSeconds).optional(),
  /** Not with `cron`: minimum number of pods; default 0. */
  minReplicas: z.int().min(0).max(functionReplicasMax).optional(),
  /** Not with `cron`: maximum number of pods; default 10. */
  maxReplicas: z.int().min(1).max(functionReplicasMax).optional(),
  /** With the trigger `cron`: a cron expression with five fields. */
  schedule: z.string().max(200).optional(),
  /** With the trigger `cron`: IANA time zone; default Etc/UTC. */
  timeZone: z.string().max(100).optional(),
  /** With the trigger `cron`: what to do when a run is due while the previous one is running; default Forbid. */
  overlap: z.enum(runOverlaps).optional(),
  /** Variables; `${NAME}` refers to another variable, a secret, or a variable of a binding. */
  env: variables.optional(),
  /** Services to bind it to; its first pod waits for them. */
  bindings: z.array(newBinding).max(20).optional(),
  /** Its secrets, which its first pod gets. */
  secrets: z.record(z.string().max(200), z.string().max(65_536)).optional(),
  /** Mounted in the pods of scheduled runs and test runs, too. */
  volumes: z.array(mount).max(20).optional(),
  /** Limits of one pod, such as `512Mi` and `500m`; default 256Mi of memory, no CPU limit. */
  memory: z.string().max(22).optional(),
  cpu: z.string().max(22).optional(),
});

export type FunctionCreate = z.output<typeof functionCreate>;

/** `PATCH /api/v1/projects/{p}/functions/{f}`: absent fields keep their value; lists and `env` are replaced as a whole. An image replaces code, and code an image. */
export const functionUpdate = functionCreate
  .omit({ name: true })
  .extend({
    /** The new trigger, together with the new `events`. */
    trigger: z.enum(functionTriggers),
    /** Absent fields keep their value unless `type` changes. */
    events: eventsCreate.extend({
      /** Null removes it. */
      markDone: eventSettings.markDone.nullable(),
      /** Null: one event at a time. */
      concurrency: eventSettings.concurrency.nullable(),
    }),
    /** Null restores the default. */
    hostname: z.string().nullable(),
    /** Null restores the default. */
    memory: z.string().max(22).nullable(),
    /** Null removes it. */
    cpu: z.string().max(22).nullable(),
  })
  .partial();

export type FunctionUpdate = z.output<typeof functionUpdate>;

/** `PATCH` and `DELETE …/functions/{f}` */
export const discardQuery = z.object({
  discardEvents: flag.describe('Loses undelivered events when the function’s event source is removed.'),
});

/** An event of a function that is pending. */
export const functionEventView = z.object({
  /** Increases in the order in which events were found. */
  id: z.string(),
  /** The source's id of the event. */
  event: z.string(),
  /** `waiting`: for its first or next delivery. `marking`: delivered, waiting to be marked as done in its source. */
  state: z.enum(['waiting', 'delivering', 'marking']),
  foundAt: timestamp,
  /** Time of the next attempt. */
  dueAt: timestamp,
  /** Consecutive failed deliveries; after the delivery, failed attempts to mark it. */
  failures: z.int(),
  lastError: z.string().optional(),
});

export type FunctionEventView = z.infer<typeof functionEventView>;

/** A dead letter. */
export const deadLetterView = functionEventView.omit({ state: true, dueAt: true }).extend({
  /** When delivery stopped. */
  deadAt: timestamp,
  /** The event as sent to the function, as JSON; absent if the event was too large to store. */
  payload: z.string().optional(),
});

export type DeadLetterView = z.infer<typeof deadLetterView>;

/** The id of an event. */
export const eventNumber = z.string().regex(/^\d{1,18}$/, 'must be the id of an event, a number');

/** `POST …/dead-letters/redrive|purge`: the dead letters to change; default all. */
export const deadLetterChoice = z.union([
  z.strictObject({ ids: z.array(eventNumber).min(1).max(1_000) }),
  z.strictObject({ all: z.literal(true) }),
]);

/** The number of dead letters that were changed. */
export const deadLettersChanged = z.object({ count: z.int() });

/** One run of a cron function. */
export const functionRunView = runView(functionRunTriggers);

export const functionView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  /** For a function with inline code. */
  runtime: z.enum(functionRuntimes).optional(),
  /** For a function with inline code: its SHA-256 in hexadecimal, which tells whether a file holds the same code. */
  codeDigest: z.string().optional(),
  /** For a function with an image. */
  image: z.string().optional(),
  dependencies: z.array(z.string()).optional(),
  trigger: z.enum(functionTriggers),
  /** The event source that calls it. */
  events: z
    .object({
      type: z.enum(eventTypes),
      source: z.string(),
      query: z.string().optional(),
      markDone: z.string().optional(),
      list: z.string().optional(),
      bucket: z.string().optional(),
      /** Maximum number of concurrent events for one pod. */
      concurrency: z.int(),
      /** Number of events by state; absent in lists. */
      counts: z.object({ waiting: z.int(), delivering: z.int(), marking: z.int(), dead: z.int() }).optional(),
      /** Whether the source has more events than the platform keeps at a time; absent in lists. */
      more: z.boolean().optional(),
      readAt: timestamp.optional(),
      /** Why reading the source or marking events as done failed. */
      error: z.string().optional(),
    })
    .optional(),
  status: z.enum(functionPhases),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  /** For a function with the trigger `http`. */
  security: securityView.optional(),
  /** For a function with the trigger `http`. */
  gate: z.enum(gatePhases).optional(),
  /** The port of its pods; absent for a cron function. */
  port: z.int().optional(),
  replicas: z.int(),
  readyReplicas: z.int(),
  idleTimeoutSeconds: z.int(),
  concurrency: z.int(),
  /** Requests per second of one pod above which another is added. */
  targetRate: z.int(),
  requestTimeoutSeconds: z.int(),
  minReplicas: z.int(),
  maxReplicas: z.int(),
  schedule: z.string().optional(),
  /** The schedule in words; absent if it is not valid. */
  scheduleDescription: z.string().optional(),
  timeZone: z.string().optional(),
  overlap: z.enum(runOverlaps).optional(),
  /** The next scheduled times. */
  nextRuns: z.array(timestamp).optional(),
  lastRun: functionRunView.optional(),
  /** The names of the services that it is bound to. */
  bindings: z.array(bindingSummary).optional(),
  env: variables,
  volumes: z.array(mount),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  /** Whether running pods have older variables, secrets or limits; absent in lists. */
  pendingRestart: z.boolean().optional(),
  /** Whether the last change is still being applied. If false with the status `failed`, applying it failed. */
  updating: z.boolean().optional(),
  createdAt: timestamp,
});

export type FunctionView = z.infer<typeof functionView>;
