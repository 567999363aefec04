import { z } from 'zod';
import { dependenciesMax } from '../../domain/dependencies.ts';
import type { KubeObject } from '../kubernetes.ts';
import { gateSettings, securitySettings, type GateStatus } from './public-route.ts';
import { runOverlaps, runRequest, runRequestsMax, type Run } from './run.ts';
import { volumeMount } from './volume.ts';

/** The runtimes of inline code (spec.md §2.5). */
export const functionRuntimes = ['node', 'python'] as const;

export type FunctionRuntime = (typeof functionRuntimes)[number];

/** Data sources whose rows, items or objects call a function, by the type of the service that holds them. */
export const eventTypes = ['postgres', 'mysql', 'redis', 'minio'] as const;

/** What calls a function (spec.md §2.5). One with the trigger `http` may have a data source beside it. */
export const functionTriggers = ['http', 'cron', ...eventTypes] as const;

export type EventType = (typeof eventTypes)[number];

/** What calls a function with events, and how; the function is bound to the service. */
export const functionEvents = z.object({
  type: z.enum(eventTypes),
  /** The service's name. */
  source: z.string().min(1).max(63),
  /** Of a database: the rows that are events. */
  query: z.string().min(1).max(10_000).optional(),
  /** Of a database: what marks a row as done, with `{{id}}` for its id. */
  markDone: z.string().min(1).max(10_000).optional(),
  /** Of redis: the list's name. */
  list: z.string().min(1).max(500).optional(),
  /** Of an object store. */
  bucket: z.string().min(3).max(63).optional(),
  /** Events that one pod gets at once; 1 when absent, which keeps the source's order where there is one pod. */
  concurrency: z.int().min(1).max(100).optional(),
});

export type FunctionEvents = z.infer<typeof functionEvents>;

/** A ConfigMap holds 1 MiB; inline code stays well below it. */
export const codeMaxBytes = 512 * 1024;

/** A function has at most this many pods at once (spec.md §8). */
export const functionReplicasMax = 10;
export const idleTimeoutMaxSeconds = 86_400;
export const requestTimeoutMaxSeconds = 3_600;

/** How a function serves and scales unless it says otherwise. */
const functionDefaults = {
  /** Requests that one pod gets at once, from each interceptor. */
  concurrency: 100,
  /** Seconds that a pod may leave a request without a sign before its answer begins. */
  requestTimeoutSeconds: 300,
  minReplicas: 0,
  maxReplicas: functionReplicasMax,
} as const;

/** The memory that a pod has at most, unless the function says otherwise. */
export const functionMemory = '256Mi';

const replicas = z.int().max(functionReplicasMax);

/** A function has at most this many bindings. */
export const functionBindingsMax = 20;

/** A service that a function uses: a user of its own there, whose way in it finds in its environment (spec.md §2.6). */
export const functionBinding = z.object({
  /** The name of the Service, in the function's environment. */
  service: z.string().min(1).max(63),
  /** What the names of its variables begin with; default the type's own, see `defaultPrefixes`. */
  prefix: z.string().max(64).exactOptional(),
  /** Of the database, or bucket; default `<service>_<function>_<environment>`. */
  database: z.string().max(64).exactOptional(),
  /** Larger each time that it is asked for: each has a password of its own. */
  version: z.int().min(1).default(1),
  /** It is being taken away, and its database with it: for everybody else there is no such binding any more. */
  dropDatabase: z.boolean().exactOptional(),
});

export type FunctionBinding = z.infer<typeof functionBinding>;

export const functionSpec = z.object({
  /** Of the code; a function has both, or an image. */
  runtime: z.enum(functionRuntimes).optional(),
  /** The source text of the handler. */
  code: z.string().min(1).optional(),
  /** A container image that listens on `port`; on a schedule its own command is run. */
  image: z.string().optional(),
  /** Packages that are installed at start of code, each as `name@version`; `parseDependencies` judges what they say. */
  dependencies: z.array(z.string().min(3).max(250)).max(dependenciesMax).optional(),
  trigger: z.enum(functionTriggers).default('http'),
  /** The port on which the function listens. */
  port: z.int().min(1).max(65_535).default(8080),
  /** Another public host than the default `fn-<name>--<cluster>.<apps_domain>`. */
  hostname: z.string().optional(),
  security: securitySettings.optional(),
  gate: gateSettings.optional(),
  /** Seconds without traffic after which the function goes to zero (spec.md §3.4). */
  idleTimeoutSeconds: z.int().min(1).max(idleTimeoutMaxSeconds).default(300),
  /** Requests that one pod gets at once, from each interceptor; the others wait. */
  concurrency: z.int().min(1).max(1_000).optional(),
  /** Seconds without a byte, either way, after which a request that has no answer yet is given up. */
  requestTimeoutSeconds: z.int().min(1).max(requestTimeoutMaxSeconds).optional(),
  /** Pods that stay without traffic. */
  minReplicas: replicas.min(0).optional(),
  /** Pods that there are at most; not below `minReplicas`. */
  maxReplicas: replicas.min(1).optional(),
  /** A data source that calls the function: the one that is its trigger, or beside the trigger `http`. */
  events: functionEvents.optional(),
  /** A cron expression of five fields; with the trigger `cron`, and only with it. */
  schedule: z.string().optional(),
  /** The IANA time zone of the schedule; UTC when absent. */
  timeZone: z.string().optional(),
  /** Scheduled runs while the one before goes on; `Forbid` when absent. */
  overlap: z.enum(runOverlaps).optional(),
  /** The services that the function uses; {@link boundServices} leaves out those that are being taken away. */
  bindings: z.array(functionBinding).max(functionBindingsMax).optional(),
  /** Variables that are no secrets; what they make with the secrets reaches pods that start from then on. */
  env: z
    .array(z.object({ name: z.string(), value: z.string() }))
    .max(200)
    .optional(),
  volumes: z.array(volumeMount).max(20).optional(),
  /** The limits of one pod, as Kubernetes quantities; without them {@link functionMemory}, and no limit of CPU. */
  cpu: z.string().optional(),
  memory: z.string().optional(),
  /** Another one after every change of the function's secrets; none before the first. */
  secretsRevision: z.uuid().optional(),
  /** When its pods were last to start anew. */
  restartedAt: z.iso.datetime().optional(),
  /** Test runs that were asked for and are not made yet. */
  runRequests: z.array(runRequest).max(runRequestsMax).optional(),
});

export type FunctionSpec = z.infer<typeof functionSpec>;

/** The bindings that a function has, without those that are being taken away. Pure. */
export function boundServices({ bindings = [] }: Pick<FunctionSpec, 'bindings'>): FunctionBinding[] {
  return bindings.filter(({ dropDatabase }) => dropDatabase !== true);
}

/** The bucket of a service that the function's events come from. Pure. */
export function eventsBucket({ events }: Pick<FunctionSpec, 'events'>, service: string): string | undefined {
  return events?.source === service ? events.bucket : undefined;
}

/** The code of a function, and what it depends on. */
export interface InlineCode {
  runtime: FunctionRuntime;
  code: string;
  dependencies?: string[] | undefined;
}

/** What a function runs: inline code, or an image. */
export type FunctionSource = Pick<FunctionSpec, 'runtime' | 'code' | 'dependencies' | 'image'>;

/** The code of a function; undefined for one that is an image. Pure. */
export function inlineCode({ runtime, code, dependencies }: FunctionSource): InlineCode | undefined {
  return runtime === undefined || code === undefined ? undefined : { runtime, code, dependencies };
}

export type FunctionLimits = Record<keyof typeof functionDefaults, number>;

/**
 * How a function serves and scales. Pure.
 * @param exclusive whether it mounts a volume that only one pod at a time may have: then there is one at most
 */
export function functionLimits(
  spec: { [Name in keyof FunctionLimits]?: number | undefined },
  exclusive = false,
): FunctionLimits {
  return {
    concurrency: spec.concurrency ?? functionDefaults.concurrency,
    requestTimeoutSeconds: spec.requestTimeoutSeconds ?? functionDefaults.requestTimeoutSeconds,
    minReplicas: spec.minReplicas ?? functionDefaults.minReplicas,
    maxReplicas: exclusive ? 1 : (spec.maxReplicas ?? functionDefaults.maxReplicas),
  };
}

/** Whether somebody said that there are to be several pods. Pure. */
export function asksForSeveral({
  minReplicas = 0,
  maxReplicas = 1,
}: Pick<FunctionSpec, 'minReplicas' | 'maxReplicas'>): boolean {
  return Math.max(minReplicas, maxReplicas) > 1;
}

/** What a run carries as `SVC_TRIGGER` (spec.md §4.8). */
export const functionRunTriggers = ['cron', 'test'] as const;

export type FunctionRun = Run<(typeof functionRunTriggers)[number]>;

/** `scheduled`: waits for its time. */
export const functionPhases = ['pending', 'idle', 'scheduled', 'running', 'failed', 'deleting'] as const;

/** `ready`: what the function finds in the binding's Secret opens the service. */
export const bindingPhases = ['pending', 'ready', 'failed'] as const;

/** How far a binding is; the queue `bindings` reports it, and the controller passes it on. */
export interface FunctionBindingStatus {
  service: string;
  /** The binding's, that this is about. */
  version: number;
  phase: (typeof bindingPhases)[number];
  /** For `pending` and `failed`: why. It is tried again all the same. */
  message?: string;
  /** Of the database or bucket that it leads to. */
  database?: string;
}

/** What pods have from their start on: a change waits until they start anew (spec.md §2.5). */
export interface StartSettings {
  /** The immutable Secret with their environment; none without variables. */
  envSecret?: string;
  /** Their limits, as Kubernetes writes them. */
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
  /** Whether pods of an older template are still being replaced; absent once that has ended, were it in vain. */
  updating?: boolean;
  /** What every pod that serves was started with; absent without one. */
  running?: StartSettings;
  /** Of a cron function: runs that have not ended. */
  active?: number;
  /** Of a cron function, newest first. */
  runs?: FunctionRun[];
  bindings?: FunctionBindingStatus[];
}

/** How far a function's binding is; undefined where nothing of this version of it is known yet. Pure. */
export function bindingStatus(
  { status }: Pick<FunctionResource, 'status'>,
  { service, version }: Pick<FunctionBinding, 'service' | 'version'>,
): FunctionBindingStatus | undefined {
  return status?.bindings?.find((each) => each.service === service && each.version === version);
}

export interface FunctionResource extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Function';
  spec: FunctionSpec;
  status?: FunctionStatus;
}
