import { z } from 'zod';
import { podsRange } from '../../domain/platform-profile.ts';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** A Kubernetes quantity, such as `500m` or `2Gi`. */
const quantity = z.string().max(20);

/** The total resources of an environment, and the defaults of its containers. */
export const environmentLimits = z.object({
  /** Total CPU requests of its pods. */
  cpu: quantity.exactOptional(),
  /** Total memory limits of its pods. */
  memory: quantity.exactOptional(),
  /** Total storage requests of its volumes. */
  storage: quantity.exactOptional(),
  pods: z.int().min(podsRange.min).max(podsRange.max).exactOptional(),
  /** Default memory limit of a container. */
  containerMemory: quantity.exactOptional(),
});

export type EnvironmentLimits = z.infer<typeof environmentLimits>;

/** The platform's default limits: enough for a team's services, while a runaway workload is stopped. */
const defaultEnvironmentLimits: Readonly<Required<EnvironmentLimits>> = {
  cpu: '16',
  memory: '32Gi',
  storage: '200Gi',
  pods: 200,
  containerMemory: '512Mi',
};

/** The platform's default ceilings: four times the default limits, room to grow without taking a whole cluster. */
const defaultLimitCeilings: Readonly<Required<EnvironmentLimits>> = {
  cpu: '64',
  memory: '128Gi',
  storage: '800Gi',
  pods: 800,
  containerMemory: '2Gi',
};

/** The highest limits that members may set: the installation's, else the platform's. */
export function limitCeilings(installation?: EnvironmentLimits): Required<EnvironmentLimits> {
  return { ...defaultLimitCeilings, ...installation };
}

/** The active limits: the environment's, else the installation's, else the platform's. */
export function effectiveLimits(
  limits: EnvironmentLimits | undefined,
  installation?: EnvironmentLimits,
): Required<EnvironmentLimits> {
  return { ...defaultEnvironmentLimits, ...installation, ...limits };
}

/** A project, cluster-scoped. Each environment is one namespace `<project>-<environment>`. */
export const projectSpec = z.object({
  displayName: z.string().max(200).optional(),
  environments: z
    .array(
      z.object({
        name: z.string(),
        id: z.uuid(),
        limits: environmentLimits.optional(),
        /** Whether it is being deleted with everything in it; afterwards the entry is removed. */
        deleting: z.boolean().optional(),
      }),
    )
    .max(20),
});

export type ProjectSpec = z.infer<typeof projectSpec>;

export type EnvironmentSpec = ProjectSpec['environments'][number];

export interface ProjectStatus {
  observedGeneration?: number;
  phase?: 'creating' | 'ready' | 'failed' | 'deleting';
  environments?: { name: string; id: string; namespace: string; ready: boolean; message?: string }[];
  conditions?: Condition[];
}

export interface Project extends KubeObject {
  apiVersion: 'platform.svc/v1';
  kind: 'Project';
  spec: ProjectSpec;
  status?: ProjectStatus;
}
