import { z } from 'zod';
import type { Condition } from '../../runtime/contracts/kubernetes.ts';
import type { AppStatus, ReleaseStatus } from '../../runtime/contracts/resources/app.ts';
import type { FunctionStatus } from '../../runtime/contracts/resources/function.ts';
import type { PlatformConfig } from '../../runtime/contracts/resources/platform-config.ts';
import type { ProjectStatus } from '../../runtime/contracts/resources/project.ts';

/** An object schema with exactly the fields of `T`: a missing one would be pruned by the API server without a word. */
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

const common = { observedGeneration: count, conditions: z.array(condition).exactOptional() };

/** What the App controller reports. */
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
    phase: z.enum(['progressing', 'available', 'failed']),
    message: text,
  }).exactOptional(),
  gate: z.enum(['off', 'applying', 'gated']).exactOptional(),
});

/** What the Function controller reports. */
export const functionStatus = shapeOf<FunctionStatus>()({
  ...common,
  phase: z.enum(['pending', 'idle', 'running', 'failed', 'deleting']).exactOptional(),
  message: text,
  host: text,
  url: text,
  replicas: count,
  readyReplicas: count,
});

/** What the Project controller reports. */
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

/** What the PlatformConfig controller reports. */
export const platformConfigStatus = shapeOf<NonNullable<PlatformConfig['status']>>()(common);
