import { z } from 'zod';
import { dependenciesMax } from '../../domain/dependencies.ts';
import type { KubeObject } from '../kubernetes.ts';
import { binding, bindingsMax, type BindingStatus } from './binding.ts';
import { gateSettings, securitySettings, type GateStatus } from './public-route.ts';
import { runOverlaps, runRequest, runRequestsMax, type Run } from './run.ts';
import { volumeMount } from './volume.ts';

/** The runtimes of inline code. */
export const functionRuntimes = ['node', 'python'] as const;

export type FunctionRuntime = (typeof functionRuntimes)[number];

/** The types of event sources, which are types of services. */
export const eventTypes = ['postgres', 'mysql', 'redis', 'minio'] as const;

/** What calls a function. A function with the trigger `http` may also have an event source. */
export const functionTriggers = ['http', 'cron', ...eventTypes] as const;

export type EventType = (typeof eventTypes)[number];

/** The event source of a function, which is bound to the service. */
export const functionEvents = z.object({
  type: z.enum(eventTypes),
  /** The service's name. */
  source: z.string().min(1).max(63),
  /** For a database: the query whose rows are the events. */
  query: z.string().min(1).max(10_000).optional(),
  /** For a database: the statement that marks a row as done, with `{{id}}` for its id. */
  markDone: z.string().min(1).max(10_000).optional(),
  /** For redis: the name of the list. */
  list: z.string().min(1).max(500).optional(),
  /** For an object store. */
  bucket: z.string().min(3).max(63).optional(),
  /** Maximum concurrent events for one pod; default 1, which keeps the source's order as long as there is one pod. */
  concurrency: z.int().min(1).max(100).optional(),
});

export type FunctionEvents = z.infer<typeof functionEvents>;

/** Maximum size of inline code: well below the 1 MiB of a ConfigMap. */
export const codeMaxBytes = 512 * 1024;

/** Maximum number of pods of a function, docs/reference/limits.md#limits. */
export const functionReplicasMax = 10;
export const idleTimeoutMaxSeconds = 86_400;
export const requestTimeoutMaxSeconds = 3_600;
export const targetRateMax = 100_000;

/** The defaults of serving and scaling. */
const functionDefaults = {
  /** Maximum concurrent requests to one pod from each interceptor. */
  concurrency: 100,
  /** Requests per second of one pod above which another is added. */
  targetRate: 200,
  /** Maximum seconds without data before the response starts. */
  requestTimeoutSeconds: 300,
  minReplicas: 0,
  maxReplicas: functionReplicasMax,
} as const;

/** The default memory limit of a pod. */
export const functionMemory = '256Mi';

const replicas = z.int().max(functionReplicasMax);

export const functionSpec = z.object({
  /** The runtime of `code`; a function has both, or an image. */
  runtime: z.enum(functionRuntimes).optional(),
  /** The source code of the handler. */
  code: z.string().min(1).optional(),
  /** A container image that listens on `port`; with the trigger `cron`, its command is run. */
  image: z.string().optional(),
  /** Packages to install for `code`, each as `name@version`; `parseDependencies` checks them. */
  dependencies: z.array(z.string().min(3).max(250)).max(dependenciesMax).optional(),
  trigger: z.enum(functionTriggers).default('http'),
  /** The port that the function listens on. */
  port: z.int().min(1).max(65_535).default(8080),
  /** The public host; default `fn-<name>--<cluster>.<apps_domain>`, which the API chooses only where it is free (decision 0042). */
  hostname: z.string().optional(),
  security: securitySettings.optional(),
  gate: gateSettings.optional(),
  /** Seconds without traffic after which the function scales to zero, docs/reference/functions.md#scaling. */
  idleTimeoutSeconds: z.int().min(1).max(idleTimeoutMaxSeconds).default(300),
  /** Maximum concurrent requests to one pod from each interceptor; further requests wait. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** Requests per second of one pod; the scaler adds a pod for each further multiple. */
  targetRate: z.int().min(1).max(targetRateMax).optional(),
  /** Seconds without data in either direction after which a request without a response fails. */
  requestTimeoutSeconds: z.int().min(1).max(requestTimeoutMaxSeconds).optional(),
  /** Minimum number of pods. */
  minReplicas: replicas.min(0).optional(),
  /** Maximum number of pods; at least `minReplicas`. */
  maxReplicas: replicas.min(1).optional(),
  /** The event source that calls the function: as its trigger, or in addition to `http`. */
  events: functionEvents.optional(),
  /** A cron expression with five fields; required with the trigger `cron`, and only allowed with it. */
  schedule: z.string().optional(),
  /** The IANA time zone of the schedule; default UTC. */
  timeZone: z.string().optional(),
  /** What to do when a run is due while the previous one is running; default `Forbid`. */
  overlap: z.enum(runOverlaps).optional(),
  /** The function's bindings; {@link boundServices} omits those that are being removed. */
  bindings: z.array(binding).max(bindingsMax).optional(),
  /** Variables; a change applies to pods that start later. */
  env: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(200)
    .optional(),
  volumes: z.array(volumeMount).max(20).optional(),
  /** Limits of one pod, as Kubernetes quantities; default {@link functionMemory}, no CPU limit. */
  cpu: z.string().optional(),
  memory: z.string().optional(),
  /** Changes with every change of the function's secrets; absent before the first. */
  secretsRevision: z.uuid().optional(),
  /** When a restart was last requested. */
  restartedAt: z.iso.datetime().optional(),
  /** Requested test runs that the controller has not created yet. */
  runRequests: z.array(runRequest).max(runRequestsMax).optional(),
});

export type FunctionSpec = z.infer<typeof functionSpec>;

/** The bucket of the service that is the function's event source, if any. Pure. */
export function eventsBucket({ events }: Pick<FunctionSpec, 'events'>, service: string): string | undefined {
  return events?.source === service ? events.bucket : undefined;
}

/** The code of a function with its dependencies. */
export interface InlineCode {
  runtime: FunctionRuntime;
  code: string;
  dependencies?: string[] | undefined;
}

/** What a function runs: code or an image. */
export type FunctionSource = Pick<FunctionSpec, 'runtime' | 'code' | 'dependencies' | 'image'>;

/** The code of a function; undefined for an image. Pure. */
export function inlineCode({ runtime, code, dependencies }: FunctionSource): InlineCode | undefined {
  return runtime === undefined || code === undefined ? undefined : { runtime, code, dependencies };
}

export type FunctionLimits = Record<keyof typeof functionDefaults, number>;

/**
 * The settings of serving and scaling, with defaults. Pure.
 * @param exclusive whether it mounts a volume that only one pod can use at a time, which limits it to one pod
 */
export function functionLimits(
  spec: { [Name in keyof FunctionLimits]?: number | undefined },
  exclusive = false,
): FunctionLimits {
  return {
    concurrency: spec.concurrency ?? functionDefaults.concurrency,
    targetRate: spec.targetRate ?? functionDefaults.targetRate,
    requestTimeoutSeconds: spec.requestTimeoutSeconds ?? functionDefaults.requestTimeoutSeconds,
    minReplicas: spec.minReplicas ?? functionDefaults.minReplicas,
    maxReplicas: exclusive ? 1 : (spec.maxReplicas ?? functionDefaults.maxReplicas),
  };
}

/** Whether the spec requests more than one pod. Pure. */
export function asksForSeveral({
  minReplicas = 0,
  maxReplicas = 1,
}: Pick<FunctionSpec, 'minReplicas' | 'maxReplicas'>): boolean {
  return Math.max(minReplicas, maxReplicas) > 1;
}

/** The value of `SVC_TRIGGER` in a run, docs/reference/functions.md#test-runs. */
export const functionRunTriggers = ['cron', 'test'] as const;

export type FunctionRun = Run<(typeof functionRunTriggers)[number]>;

/** `scheduled`: waits for the next scheduled time. */
export const functionPhases = ['pending', 'idle', 'scheduled', 'running', 'failed', 'deleting'] as const;

/** What pods get when they start: a change applies to new pods. */
export interface StartSettings {
  /** The immutable Secret with their environment; absent without variables. */
  envSecret?: string;
  /** Their limits, as Kubernetes formats them. */
  cpu?: string;
  memory?: string;
  restartedAt?: string;
}

export interface FunctionStatus extends GateStatus {
  observedGeneration?: number;
  phase?: (typeof functionPhases)[number];
  message?: string;
  host?: string;
  url?: string;
  replicas?: number;
  readyReplicas?: number;
  /** Whether pods with an older template are still being replaced; absent once that has ended or failed. */
  updating?: boolean;
  /** What all serving pods were started with; absent without pods. */
  running?: StartSettings;
  /** For a cron function: runs that have not ended. */
  active?: number;
  /** For a cron function: runs, newest first. */
  runs?: FunctionRun[];
  bindings?: BindingStatus[];
}

export interface FunctionResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Function';
  spec: FunctionSpec;
  status?: FunctionStatus;
}
