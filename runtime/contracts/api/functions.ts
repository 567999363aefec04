import { z } from 'zod';
import { dependenciesMax } from '../../domain/dependencies.ts';
import {
  codeMaxBytes,
  functionPhases,
  functionReplicasMax,
  functionRuntimes,
  functionRunTriggers,
  functionTriggers,
  sourcelessTriggers,
} from '../resources/function.ts';
import { runOverlaps } from '../resources/run.ts';
import { gatePhases } from '../resources/public-route.ts';
import { bindingStatus } from './bindings.ts';
import { outOfMemory, timestamp, variables } from './common.ts';
import { securityChange, securityView } from './public-route.ts';
import { runView } from './runs.ts';
import { mount } from './volumes.ts';

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
  trigger: z.enum(sourcelessTriggers).default('http'),
  /** With the trigger `http`; default 8080. */
  port: z.int().min(1).max(65_535).optional(),
  /** With the trigger `http`. */
  hostname: z.string().optional(),
  /** With the trigger `http`. */
  security: securityChange.optional(),
  /** With the trigger `http`; default 300. */
  idleTimeoutSeconds: z.int().min(1).max(86_400).optional(),
  /** With the trigger `http`: requests that one pod gets at once from each interceptor; default 100. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** With the trigger `http`: seconds without a byte before the answer begins; default 300. */
  requestTimeoutSeconds: z.int().min(1).max(3_600).optional(),
  /** With the trigger `http`: pods that stay without traffic; default 0. */
  minReplicas: z.int().min(0).max(functionReplicasMax).optional(),
  /** With the trigger `http`; default 10. */
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
    trigger: z.enum(sourcelessTriggers),
    /** Null: the default one. */
    hostname: z.string().nullable(),
    /** Null: the default one. */
    memory: z.string().max(22).nullable(),
    /** Null: none. */
    cpu: z.string().max(22).nullable(),
  })
  .partial();

export type FunctionUpdate = z.output<typeof functionUpdate>;

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
  status: z.enum(functionPhases),
  message: z.string().optional(),
  outOfMemory: outOfMemory.optional(),
  url: z.string().optional(),
  /** Of a function with a URL. */
  security: securityView.optional(),
  /** Of a function with a URL. */
  gate: z.enum(gatePhases).optional(),
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
  createdAt: timestamp,
});

export type FunctionView = z.infer<typeof functionView>;
