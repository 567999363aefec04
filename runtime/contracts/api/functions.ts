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
} from '../resources/function.ts';
import { runOverlaps } from '../resources/run.ts';
import { gatePhases } from '../resources/public-route.ts';
import { bindingStatus } from './bindings.ts';
import { flag, outOfMemory, timestamp, variables } from './common.ts';
import { securityChange, securityView } from './public-route.ts';
import { runView } from './runs.ts';
import { mount } from './volumes.ts';

const eventSettings = functionEvents.shape;

/** A data source that calls a function: `query` of postgres and mysql, `list` of redis, `bucket` of minio. */
const eventsCreate = z.strictObject({
  /** Default: the function's trigger. */
  type: eventSettings.type.optional(),
  /** The name of a service of that type. The function is bound to it, if it is not yet. */
  source: eventSettings.source.optional(),
  /** Where the function is not bound to the source yet: the database to bind it to; default one of its own. */
  database: z.string().max(64).optional(),
  query: eventSettings.query,
  /** With `{{id}}` for the row's id; without it a row stays known for as long as the query returns it. */
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
    .refine((code) => Buffer.byteLength(code) <= codeMaxBytes, `code has at most ${codeMaxBytes} bytes`)
    .optional(),
  /** In place of `runtime` and `code`: a full reference of a container image, which listens on `port`. */
  image: z.string().max(512).optional(),
  /** With `code`: packages of the runtime's registry, each as `name@version`. */
  dependencies: z.array(z.string().max(300)).max(dependenciesMax).optional(),
  /** Default `http`, with `events` their type. With `events` beside it, `http` is called by both. */
  trigger: z.enum(functionTriggers).optional(),
  events: eventsCreate.optional(),
  /** Not with the trigger `cron`, as all about pods; default 8080. */
  port: z.int().min(1).max(65_535).optional(),
  /** With the trigger `http`. */
  hostname: z.string().optional(),
  /** With the trigger `http`. */
  security: securityChange.optional(),
  /** Not with `cron`; default 300, of which events alone know 30 at most. */
  idleTimeoutSeconds: z.int().min(1).max(idleTimeoutMaxSeconds).optional(),
  /** With the trigger `http`: requests that one pod gets at once from each interceptor; default 100. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** Not with `cron`: seconds without a byte before the answer begins; default 300. */
  requestTimeoutSeconds: z.int().min(1).max(requestTimeoutMaxSeconds).optional(),
  /** Not with `cron`: pods that stay without traffic and events; default 0. */
  minReplicas: z.int().min(0).max(functionReplicasMax).optional(),
  /** Not with `cron`; default 10. */
  maxReplicas: z.int().min(1).max(functionReplicasMax).optional(),
  /** With the trigger `cron`: an expression of five fields. */
  schedule: z.string().max(200).optional(),
  /** With the trigger `cron`: IANA name; default Etc/UTC. */
  timeZone: z.string().max(100).optional(),
  /** With the trigger `cron`: what happens to a run while the one before still goes on; default Forbid. */
  overlap: z.enum(runOverlaps).optional(),
  /** Variables that are no secrets; `${NAME}` refers to another one, a secret, or what a binding brings. */
  env: variables.optional(),
  /** Also in the pods of scheduled and test runs. */
  volumes: z.array(mount).max(20).optional(),
  /** Limits of one pod such as `512Mi` and `500m`; default 256Mi, and none of CPU. */
  memory: z.string().max(22).optional(),
  cpu: z.string().max(22).optional(),
});

export type FunctionCreate = z.output<typeof functionCreate>;

/** `PATCH /api/v1/projects/{p}/functions/{f}`: what is given changes, a list and `env` as a whole; an image takes the place of code, and code that of an image. */
export const functionUpdate = functionCreate
  .omit({ name: true })
  .extend({
    /** All that calls it from then on, with the `events` that are given with it. */
    trigger: z.enum(functionTriggers),
    /** What is given changes; another `type` begins anew. */
    events: eventsCreate.extend({
      /** Null: none. */
      markDone: eventSettings.markDone.nullable(),
      /** Null: one at a time. */
      concurrency: eventSettings.concurrency.nullable(),
    }),
    /** Null: the default one. */
    hostname: z.string().nullable(),
    /** Null: the default one. */
    memory: z.string().max(22).nullable(),
    /** Null: none. */
    cpu: z.string().max(22).nullable(),
  })
  .partial();

export type FunctionUpdate = z.output<typeof functionUpdate>;

/** `PATCH` and `DELETE …/functions/{f}` */
export const discardQuery = z.object({
  /** Where the function loses its data source: also what was not delivered and would not come out of it again. */
  discardEvents: flag,
});

/** An event of a function that is not done. */
export const functionEventView = z.object({
  /** Grows in the order in which events were found. */
  id: z.string(),
  /** What the source calls it. */
  event: z.string(),
  /** `waiting`: for its first or next delivery. `marking`: delivered, to be marked as done in its source. */
  state: z.enum(['waiting', 'delivering', 'marking']),
  foundAt: timestamp,
  /** When it is due again. */
  dueAt: timestamp,
  /** Deliveries in a row that failed; markings, of one that was delivered. */
  failures: z.int(),
  lastError: z.string().optional(),
});

export type FunctionEventView = z.infer<typeof functionEventView>;

/** An event that was given up. */
export const deadLetterView = functionEventView.omit({ state: true, dueAt: true }).extend({
  /** When it was given up. */
  deadAt: timestamp,
  /** What the function was sent, a JSON text; absent for an event that was too large to be kept. */
  payload: z.string().optional(),
});

export type DeadLetterView = z.infer<typeof deadLetterView>;

/** The number of an event. */
export const eventNumber = z.string().regex(/^\d{1,18}$/, 'must be the id of an event, a number');

/** `POST …/dead-letters/redrive|purge`: some dead letters, or all. */
export const deadLetterChoice = z.union([
  z.strictObject({ ids: z.array(eventNumber).min(1).max(1_000) }),
  z.strictObject({ all: z.literal(true) }),
]);

/** How many dead letters were found and changed. */
export const deadLettersChanged = z.object({ count: z.int() });

/** One run of a cron function. */
export const functionRunView = runView(functionRunTriggers);

export const functionView = z.object({
  id: z.uuid(),
  name: z.string(),
  project: z.string(),
  environment: z.string(),
  /** Of a function of code. */
  runtime: z.enum(functionRuntimes).optional(),
  /** Of a function of an image. */
  image: z.string().optional(),
  dependencies: z.array(z.string()).optional(),
  trigger: z.enum(functionTriggers),
  /** The data source that calls it. */
  events: z
    .object({
      type: z.enum(eventTypes),
      source: z.string(),
      query: z.string().optional(),
      markDone: z.string().optional(),
      list: z.string().optional(),
      bucket: z.string().optional(),
      /** Events that one pod gets at once. */
      concurrency: z.int(),
      /** Not told in lists: how many there are, by what becomes of them. */
      counts: z.object({ waiting: z.int(), delivering: z.int(), marking: z.int(), dead: z.int() }).optional(),
      /** Whether there is more in the source than is kept at a time; not told in lists. */
      more: z.boolean().optional(),
      readAt: timestamp.optional(),
      /** Why the source could not be read, or nothing be marked as done. */
      error: z.string().optional(),
    })
    .optional(),
  status: z.enum(functionPhases),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  /** Of a function with a URL. */
  security: securityView.optional(),
  /** Of a function with a URL. */
  gate: z.enum(gatePhases).optional(),
  /** Where its pods listen; not of a cron function. */
  port: z.int().optional(),
  replicas: z.int(),
  readyReplicas: z.int(),
  idleTimeoutSeconds: z.int(),
  concurrency: z.int(),
  requestTimeoutSeconds: z.int(),
  minReplicas: z.int(),
  maxReplicas: z.int(),
  schedule: z.string().optional(),
  timeZone: z.string().optional(),
  overlap: z.enum(runOverlaps).optional(),
  /** The schedule's next times. */
  nextRuns: z.array(timestamp).optional(),
  lastRun: functionRunView.optional(),
  /** The services that it is bound to. */
  bindings: z.array(z.object({ service: z.string(), status: bindingStatus })).optional(),
  env: variables,
  volumes: z.array(mount),
  memory: z.string().optional(),
  cpu: z.string().optional(),
  /** Whether pods run that were started with other variables, secrets or limits than there are now; not told in lists. */
  pendingRestart: z.boolean().optional(),
  /** Whether its last change is still being applied; with the status `failed` and without this, it could not be. */
  updating: z.boolean().optional(),
  createdAt: timestamp,
});

export type FunctionView = z.infer<typeof functionView>;
