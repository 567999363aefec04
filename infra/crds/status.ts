import { z } from 'zod';
import type { Condition } from '../../runtime/contracts/kubernetes.ts';
import {
  appRunTriggers,
  type AppRun,
  type AppStatus,
  type ReleaseStatus,
} from '../../runtime/contracts/resources/app.ts';
import type { BuildStatus } from '../../runtime/contracts/resources/build.ts';
import { bindingPhases, type BindingStatus } from '../../runtime/contracts/resources/binding.ts';
import {
  functionPhases,
  functionRunTriggers,
  type FunctionStatus,
  type StartSettings,
} from '../../runtime/contracts/resources/function.ts';
import { jobTriggers, type JobStatus } from '../../runtime/contracts/resources/job.ts';
import {
  componentPhases,
  notRaisedReasons,
  type ComponentStatus,
  type MemoryRaise,
} from '../../runtime/contracts/resources/monitoring.ts';
import { platformConfigSpec, type PlatformConfigStatus } from '../../runtime/contracts/resources/platform-config.ts';
import { gatePhases } from '../../runtime/contracts/resources/public-route.ts';
import type { ProjectStatus } from '../../runtime/contracts/resources/project.ts';
import { runStates, type Run } from '../../runtime/contracts/resources/run.ts';
import type { ServiceStatus } from '../../runtime/contracts/resources/service.ts';
import type { VolumeStatus } from '../../runtime/contracts/resources/volume.ts';
import { componentNames } from '../../runtime/domain/monitoring.ts';

/** An object schema with exactly the fields of `T`. The API server would silently drop a field that is missing here. */
function shapeOf<T>() {
  return <Shape extends { [Key in keyof Required<T>]: z.ZodType<T[Key]> }>(
    shape: Shape & Record<Exclude<keyof Shape, keyof T>, never>,
  ) => z.object(shape);
}

const text = z.string().exactOptional();
const count = z.int().min(0).exactOptional();

const condition = shapeOf<Condition>()({
  type: z.string().min(1).max(316),
  status: z.enum(['True', 'False', 'Unknown']),
  reason: z.string().max(1024),
  message: z.string().max(32_768),
  lastTransitionTime: z.iso.datetime(),
  observedGeneration: count,
});

const gate = { gate: z.enum(gatePhases).exactOptional(), gateSince: z.iso.datetime().exactOptional() };
const common = { observedGeneration: count, conditions: z.array(condition).exactOptional() };

const runFields = <const Trigger extends readonly [string, ...string[]]>(triggers: Trigger) => ({
  name: z.string(),
  trigger: z.enum(triggers),
  state: z.enum(runStates),
  by: text,
  createdAt: z.iso.datetime(),
  startedAt: z.iso.datetime().exactOptional(),
  endedAt: z.iso.datetime().exactOptional(),
  message: text,
});

const run = <const Trigger extends readonly [string, ...string[]]>(triggers: Trigger) =>
  shapeOf<Run<Trigger[number]>>()(runFields(triggers));

/** The queue `bindings` writes them, and the controllers keep them. */
const bindings = z
  .array(
    shapeOf<BindingStatus>()({
      service: z.string(),
      version: z.int().min(1),
      phase: z.enum(bindingPhases),
      message: text,
      database: text,
      applied: z.boolean().exactOptional(),
    }),
  )
  .exactOptional();

/** The status that the App controller writes. */
export const appStatus = shapeOf<AppStatus>()({
  ...common,
  phase: z.enum(['pending', 'deploying', 'running', 'failed', 'deleting']).exactOptional(),
  message: text,
  host: text,
  url: text,
  replicas: count,
  readyReplicas: count,
  release: shapeOf<ReleaseStatus>()({
    generation: z.int().min(1),
    deploymentId: z.string(),
    image: text,
    phase: z.enum(['progressing', 'available', 'failed']),
    message: text,
    readyReplicas: z.int().min(0).exactOptional(),
    faultSince: z.iso.datetime().exactOptional(),
    template: text,
    commandSucceeded: z.boolean().exactOptional(),
  }).exactOptional(),
  image: text,
  imageEdits: count,
  bindings,
  runs: z.array(shapeOf<AppRun>()({ ...runFields(appRunTriggers), command: z.array(z.string()) })).exactOptional(),
  ...gate,
});

/** The status that the Function controller writes. */
export const functionStatus = shapeOf<FunctionStatus>()({
  ...common,
  ...gate,
  phase: z.enum(functionPhases).exactOptional(),
  message: text,
  host: text,
  url: text,
  replicas: count,
  readyReplicas: count,
  updating: z.boolean().exactOptional(),
  running: shapeOf<StartSettings>()({ envSecret: text, cpu: text, memory: text, restartedAt: text }).exactOptional(),
  active: count,
  runs: z.array(run(functionRunTriggers)).exactOptional(),
  bindings,
});

/** The status that the Job controller writes. */
export const jobStatus = shapeOf<JobStatus>()({
  ...common,
  phase: z.enum(['pending', 'ready', 'scheduled', 'suspended', 'running', 'failed', 'deleting']).exactOptional(),
  message: text,
  active: count,
  runs: z.array(run(jobTriggers)).exactOptional(),
  bindings,
});

/** The status that the Volume controller writes. */
export const volumeStatus = shapeOf<VolumeStatus>()({
  ...common,
  phase: z.enum(['pending', 'waiting', 'ready', 'resizing', 'failed', 'deleting']).exactOptional(),
  message: text,
  capacity: text,
  storageClass: text,
});

/** The status that the Service controller writes. */
export const serviceStatus = shapeOf<ServiceStatus>()({
  ...common,
  phase: z.enum(['pending', 'ready', 'failed']).exactOptional(),
  message: text,
  host: text,
  port: count,
});

/** The status that the Build controller writes. */
export const buildStatus = shapeOf<BuildStatus>()({
  ...common,
  phase: z.enum(['pending', 'running', 'succeeded', 'failed']).exactOptional(),
  message: text,
  startedAt: z.iso.datetime().exactOptional(),
  endedAt: z.iso.datetime().exactOptional(),
  image: text,
  digest: text,
  sizeBytes: count,
  commit: text,
  commitMessage: text,
  commitAuthor: text,
});

/** The status that the Project controller writes. */
export const projectStatus = shapeOf<ProjectStatus>()({
  ...common,
  phase: z.enum(['creating', 'ready', 'failed', 'deleting']).exactOptional(),
  environments: z
    .array(
      shapeOf<NonNullable<ProjectStatus['environments']>[number]>()({
        name: z.string(),
        id: z.string(),
        namespace: z.string(),
        ready: z.boolean(),
        message: text,
      }),
    )
    .exactOptional(),
});

/** The status that the PlatformConfig controller writes. */
export const platformConfigStatus = shapeOf<PlatformConfigStatus>()({
  ...common,
  accepted: z.object({ generation: z.int(), spec: platformConfigSpec }).exactOptional(),
  monitoringGeneration: z.int().exactOptional(),
  monitoring: z
    .array(
      shapeOf<ComponentStatus>()({
        name: z.enum(componentNames),
        enabled: z.boolean(),
        ready: z.boolean(),
        phase: z.enum(componentPhases),
        memory: text,
        raised: shapeOf<MemoryRaise>()({
          raisedAt: z.iso.datetime(),
          from: z.string(),
          to: z.string(),
          reason: z.string(),
        }).exactOptional(),
        killedAt: z.iso.datetime().exactOptional(),
        notRaised: z.enum(notRaisedReasons).exactOptional(),
        message: text,
      }),
    )
    .exactOptional(),
});
