import { z } from 'zod';
import type { Condition, KubeObject } from '../kubernetes.ts';

/** A Kubernetes quantity, such as `500m` or `2Gi`. */
const quantity = z.string().max(20);

/** What one environment may use in all, and what its containers get that say nothing themselves. */
export const environmentLimits = z.object({
  /** CPU that its pods may ask for together. */
  cpu: quantity.exactOptional(),
  /** Memory that its pods may use together. */
  memory: quantity.exactOptional(),
  /** Storage that its volumes may ask for together. */
  storage: quantity.exactOptional(),
  pods: z.int().min(1).max(10_000).exactOptional(),
  /** Memory that a container without a limit of its own may use. */
  containerMemory: quantity.exactOptional(),
});

export type EnvironmentLimits = z.infer<typeof environmentLimits>;

/** The limits of an environment that sets none: room for a team's services, and none for a runaway. */
export const defaultEnvironmentLimits: Readonly<Required<EnvironmentLimits>> = {
  cpu: '16',
  memory: '32Gi',
  storage: '200Gi',
  pods: 200,
  containerMemory: '512Mi',
};

/** The limits in force: an environment's own, else the installation's, else the platform's. */
export function effectiveLimits(
  limits: EnvironmentLimits | undefined,
  installation?: EnvironmentLimits,
): Required<EnvironmentLimits> {
  return { ...defaultEnvironmentLimits, ...installation, ...limits };
}

/** A project, cluster-scoped. Each environment is one namespace `<project>-<environment>` (spec.md §1). */
export const projectSpec = z.object({
  displayName: z.string().max(200).optional(),
  environments: z
    .array(
      z.object({
        name: z.string(),
        id: z.uuid(),
        limits: environmentLimits.optional(),
        /** Being removed with everything in it; the entry goes when all of it is gone. */
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
